internal import StageSupport

/// The steps of the loop at which a test can end the process, in their order within a batch. In production no
/// callback is set.
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
