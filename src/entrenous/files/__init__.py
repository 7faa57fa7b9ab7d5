"""What is read and written: models, tables, ONNX graphs, data sets."""
