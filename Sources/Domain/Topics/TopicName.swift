/// The topics by their names without the prefix, as operators use them.
package enum TopicName: String, Sendable, CaseIterable {
    case catalog
    case reports
    case installations
    case registry
    case events
    case sends
    case sendsTimed = "sends.timed"
    case groups
    case superseded
    case expansionsUrgent = "expansions.urgent"
    case expansions
    case progress
    case starts
    case jobsUrgent = "jobs.urgent"
    case jobs
    case jobsLater5s = "jobs.later.5s"
    case jobsLater2m = "jobs.later.2m"
    case receipts
    case schedules
    case schedulesAuto = "schedules.auto"
    case timers
    case replies
    case members
    case audit
    case deadLetters = "dead-letters"
}
