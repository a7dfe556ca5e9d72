/// The steps between which a proof lets the process die.
package enum InsightStep: String, Sendable, CaseIterable {
    case assigned
    case opened
    case receiptsEntered
    case eventsEntered
    case rowsEntered
    case batchEntered
    case forgotten
}
