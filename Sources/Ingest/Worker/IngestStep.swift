/// The places between which ingest can die, in their order within a batch. A test or a proof is told of
/// each and may end the process there; an operator's process has nobody to tell.
package enum IngestStep: Int, Sendable, CaseIterable {
    case batchRead = 1
    case strayForwarded
    case lettersSent
    case lettersAcknowledged
    case merged
    case transactionBegun
    case installationsSent
    case registrySent
    case eventsSent
    case offsetsSent
    case committed
    case overlaid
    case viewSettled
    case assigned
    case viewOpened
    case restored
    case sweepBegun
    case swept
}
