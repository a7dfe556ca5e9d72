/// The names of the Kafka headers of a sheet. `SheetHead` describes their content.
package enum SheetHeaderName {
    package static let apns: StaticString = "apns"
    package static let flotilla: StaticString = "flotilla"
    package static let to: StaticString = "to"
    package static let origin: StaticString = "origin"
    package static let unproven: StaticString = "unproven"
}

/// The names of the lines in the headers `apns`, `flotilla` and `origin`.
package enum SheetLineName: String, Sendable, CaseIterable {
    // `apns`: the header lines that APNs receives.
    case topic = "apns-topic"
    case priority = "apns-priority"
    case expiration = "apns-expiration"
    case collapseID = "apns-collapse-id"

    // `flotilla`: the bookkeeping of `SheetHead`.
    case schemaVersion = "v"
    case app
    case environment
    case broadcast
    case send
    case group
    case scope
    case generation
    /// The version of the content, which orders the sends of a scope.
    case version
    case event
    case deadline
    case triesMax = "attempts"
    case conflate
    case unknownStart = "unknown-start"
    case acceptedAt = "accepted-at"

    // `origin`: the fields of `SheetOrigin`.
    case firstTopic = "topic"
    case partition
    case offset
    case lines
    case attempt = "attempt"
    case tries = "tries"
    case dueAt = "due-at"
    case reason
}
