enum IngestPlaceholder {}
