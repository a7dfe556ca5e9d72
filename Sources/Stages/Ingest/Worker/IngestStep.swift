internal import StageSupport

/// The steps after which an ingest process can die, in their order within a batch. A test receives each step and may
/// end the process there.
package enum IngestStep: Int, RecordStep, CaseIterable {
    case batchRead = 1
    case misroutedReportForwarded
    case deadLettersSent
    case deadLettersAcknowledged
    case decided
    case transactionBegun
    case installationsSent
    case registrySent
    case eventsSent
    case offsetsSent
    case committed
    case overlayUpdated
    case viewWritten
    case assigned
    case viewOpened
    case restored
    case sweepStarted
    case sweepCommitted
}
