/// The steps after which a kill test can end the process.
package enum InsightStep: Int, Sendable, CaseIterable {
    case receiptsEntered = 1
    case eventsEntered
    case rowsEntered
    case batchEntered
    case assigned
    case opened
    case forgotten
}
