internal import StageSupport

/// The steps after which a scheduler can die, in their order within a batch. A test receives each step and
/// may end the process there.
package enum SchedulerStep: Int, RecordStep, CaseIterable {
    case batchRead = 1
    case deadLettersSent
    case deadLettersAcknowledged
    case decided
    case transactionBegun
    case timersSent
    case sendsSent
    case progressSent
    case repliesSent
    case offsetsSent
    case committed
    case overlayUpdated
    case viewWritten
    case endsReceived
    case firingStarted
    case firingCommitted
    case assigned
    case viewOpened
    case restored
    case timerPageRead
    case timeProbeSent
}
