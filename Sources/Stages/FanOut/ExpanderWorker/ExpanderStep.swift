internal import StageSupport

/// The steps after which an expander can die, in their order within a transaction. A test receives each step
/// and may end the process there.
package enum ExpanderStep: Int, StageStep, CaseIterable {
    case requestsRead = 1
    case newsHeard
    case pagesWalked
    case lettersAcknowledged
    case transactionBegun
    case jobsSent
    case startsSent
    case progressSent
    case continuationsSent
    case enquiriesSent
    case offsetsSent
    case committed
    case overlaid
    case viewSettled
    case registryApplied
    case assigned
    case viewOpened
    case restored
    case walked
}
