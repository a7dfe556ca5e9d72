/// The steps between which a proof lets the process die.
package enum InsightStep: Int, Sendable, CaseIterable {
    case receiptsEntered = 1
    case eventsEntered
    case rowsEntered
    case batchEntered
    case assigned
    case opened
    case forgotten
}
