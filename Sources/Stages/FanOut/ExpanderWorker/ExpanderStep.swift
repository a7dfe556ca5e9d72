internal import StageSupport

/// The steps after which an expander can die, in their order within a transaction. A test receives each step
/// and may end the process there.
package enum ExpanderStep: Int, StageStep, CaseIterable {
    case requestsRead = 1
    case registryChangesRead
    case pagesWalked
    case deadLettersAcknowledged
    case transactionBegun
    case jobsSent
    case scopeRowsSent
    case progressSent
    case continuationsSent
    case subscriptionsSent
    case offsetsSent
    case committed
    case overlayUpdated
    case viewWritten
    case registryApplied
    case assigned
    case viewOpened
    case restored
    case pageScanned
}
