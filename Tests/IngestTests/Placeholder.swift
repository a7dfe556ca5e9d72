enum IngestTestsPlaceholder {}
