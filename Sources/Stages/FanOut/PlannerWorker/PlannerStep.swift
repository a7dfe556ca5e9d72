internal import StageSupport

/// The steps after which a planner can die, in their order within a batch. A test receives each step and may
/// end the process there.
package enum PlannerStep: Int, RecordStep, CaseIterable {
    case batchRead = 1
    case deadLettersSent
    case deadLettersAcknowledged
    case decided
    case transactionBegun
    case groupsSent
    case expansionsSent
    case progressSent
    case schedulesSent
    case offsetsSent
    case committed
    case overlayUpdated
    case messagesSent
    case viewWritten
    case assigned
    case viewOpened
    case restored
    case heldSendsPlanned
    case heldSendsReleased
    case pageScanned
    case sweepStarted
    case sweepCommitted
}
