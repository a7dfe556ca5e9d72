/// The steps after which a kill test can end the process.
package enum InsightStep: Int, Sendable, CaseIterable {
    case receiptsCommitted = 1
    case eventsCommitted
    case rowsCommitted
    case batchCommitted
    case lanesAssigned
    case laneOpened
    case oldRowsDeleted
}
