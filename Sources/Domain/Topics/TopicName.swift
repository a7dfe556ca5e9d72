/// The topics of Flotilla. The raw value is the topic's name without the prefix.
package enum TopicName: String, Sendable, CaseIterable {
    /// Apps, API keys, activity types, segments, definitions and webhook endpoints.
    case catalog
    /// Reports of phones and backends.
    case reports
    /// The state of each installation.
    case installations
    /// The tokens that reach each recipient.
    case registry
    /// Tokens, activities and taps, for consumers of the operator.
    case events

    /// Accepted sends.
    case sends
    /// Sends whose scheduled time has come.
    case sendsTimed = "sends.timed"
    /// The groups of which a lane has members.
    case subscriptions
    /// The newest state of each group.
    case groups
    /// The newest version of each group's content, cancelled sends, and erasures of recipients. Senders read
    /// it, and drop the pushes that are out of date.
    case superseded
    /// The part of an urgent send for each lane.
    case expansionsUrgent = "expansions.urgent"
    /// The part of any other send for each lane.
    case expansions
    /// The progress of sends.
    case progress
    /// The starts and ENDs of recipients, and the states of the lane's scopes.
    case starts

    /// Urgent pushes.
    case jobsUrgent = "jobs.urgent"
    /// All other pushes.
    case jobs
    /// Pushes that wait five seconds for another attempt.
    case jobsLater5s = "jobs.later.5s"
    /// Pushes that wait two minutes for another attempt.
    case jobsLater2m = "jobs.later.2m"
    /// The outcomes of pushes.
    case receipts

    /// Commands for scheduled sends.
    case schedules
    /// The times at which groups end automatically.
    case schedulesAuto = "schedules.auto"
    /// The sends that wait for their time.
    case timers
    /// Answers to gateways.
    case replies

    /// The running processes, with the version and settings of each.
    case members
    /// Changes of objects, with the person or API key that made them.
    case audit
    /// Accepted and cancelled sends, with the API key that made the request.
    case auditSends = "audit.sends"
    /// Records that a stage could not use, and the reasons.
    case deadLetters = "dead-letters"
}
