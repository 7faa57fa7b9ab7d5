"""From analytic constants to sensitivities, from sensitivities to noise, from noise to a certificate."""
