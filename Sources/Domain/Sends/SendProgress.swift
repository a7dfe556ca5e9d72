package import Identifiers
package import JSON

/// The progress of one send, as far as it is known: the sum of its `ProgressRecord`s. The records of the planner
/// are added in the order of their writing, and those of lanes before, between or after them.
package struct SendProgress: Sendable {
    package let id: String
    package private(set) var key: ScopeKey?
    /// The recipient, if the send is for one recipient of a shared group. A cancel must name it.
    package private(set) var recipient: Recipient?
    package private(set) var plannerPart: ProgressRecord.PlannerPart?
    /// The content, the audience and the author. Nil before the planner's verdict, and for a send of an older version.
    package private(set) var outline: SendOutline?
    package private(set) var laneTallies: [Int: LaneTally] = [:]
    /// The number of other bodies with the same idempotency key, which were not carried out.
    package private(set) var conflictCount = 0
    package private(set) var isDryRun = false
    /// The id of the HTTP request that made the send.
    package private(set) var requestID: String?
    /// The time at which the gateway accepted the send, in milliseconds since 1970.
    package private(set) var acceptedAt: Int64?
    /// The time of the newest record, in milliseconds since 1970.
    package private(set) var lastWrittenAt: Int64?
    /// For a send that waits for its time: the due time in milliseconds since 1970.
    package private(set) var dueAt: Int64?

    package init(id: String) { self.id = id }

    /// Creates the progress of a send that is not planned yet: it lies in `sends`, or it waits for its time.
    package init(waiting send: Send, dueAt: Int64? = nil) {
        id = send.id
        key = send.scopeKey
        if send.group != nil, send.owner == nil, case .users(let users) = send.audience, users.count == 1 {
            recipient = .user(users[0])
        }
        acceptedAt = send.acceptedAt
        isDryRun = send.isDryRun
        requestID = send.requestID
        outline = SendOutline(of: send)
        self.dueAt = dueAt
    }

    /// Adds a record. A later record of the planner, or of the same lane, replaces an earlier one.
    package mutating func add(_ progress: ProgressRecord) {
        key = progress.key
        isDryRun = progress.isDryRun
        requestID = requestID ?? progress.requestID
        acceptedAt = acceptedAt ?? progress.acceptedAt
        lastWrittenAt = max(lastWrittenAt ?? 0, progress.writtenAt)
        switch progress.part {
        case .planner(let part): add(part)
        case .lanes(let numbers, let tally): for number in numbers { laneTallies[number] = tally }
        case .schedule: break
        }
    }

    /// Replaces the planner's part, with exceptions for verdicts that are not about the planned send.
    private mutating func add(_ newPart: ProgressRecord.PlannerPart) {
        var part = newPart
        // The part with which the send went to the lanes.
        let carriedOut = plannerPart.flatMap { $0.verdict.isCarriedOut ? $0 : nil }
        switch part.verdict {
        case .planned:
            // The idempotency key was used again after it expired. The lanes' tallies belong to the earlier send.
            if let carriedOut, carriedOut.version != part.version { laneTallies = [:] }
        case .conflict:
            conflictCount += 1
            // The conflict does not concern the body that came first.
            if plannerPart != nil { return }
        case .stopping:
            // The send was cancelled while it waited for its time, so the lanes have nothing to stop.
            if plannerPart?.verdict == .cancelled { return }
            carriedOut?.copyPlan(to: &part)
        case .cancelRefused:
            // The lanes do not have the send, so they cannot go on with it.
            if plannerPart != nil, carriedOut == nil { return }
            carriedOut?.copyPlan(to: &part)
        case .held, .superseded, .newerState, .ended, .outdated, .expired, .refused, .unknownApp, .cancelled:
            break
        }
        recipient = part.recipient ?? recipient
        outline = part.outline ?? outline
        plannerPart = part
    }

    package var targeted: Int { laneTallies.values.reduce(0) { $0 + $1.targeted } }
    package var expanded: Int { laneTallies.values.reduce(0) { $0 + $1.expanded } }
    /// The number of tokens that did not become jobs, because a newer send replaced this one.
    package var dropped: Int { laneTallies.values.reduce(0) { $0 + $1.dropped } }
    /// The number of lanes in which an END ended the walk of a start before it had visited all recipients. `targeted`
    /// does not include the recipients that were not visited.
    package var partlyVisitedLanes: Int { laneTallies.values.count { $0.hasEndedEarly } }

    /// Writes the number of jobs by system version, as a member of an answer. Unreported versions count as
    /// `unknown`.
    package func writeSystems(to json: inout JSONWriter) {
        var systems: [UInt8: Int] = [:]
        for tally in laneTallies.values { systems.merge(tally.jobsBySystem, uniquingKeysWith: +) }
        Self.write(
            "systems", counts: systems.sorted { $0.key < $1.key },
            as: { $0 == OSVersion.unreportedMajor ? "unknown" : String($0) }, to: &json)
    }

    /// Writes the number of excluded recipients by reason, as a member of an answer.
    package func writeExcluded(to json: inout JSONWriter) {
        var excluded: [String: Int] = [:]
        for tally in laneTallies.values { excluded.merge(tally.excludedByReason, uniquingKeysWith: +) }
        Self.write("excluded", counts: excluded.sorted { $0.key < $1.key }, as: { $0 }, to: &json)
    }

    /// Writes an object with one member for each count.
    private static func write<Kind>(
        _ name: StaticString, counts: [(key: Kind, value: Int)], as text: (Kind) -> String,
        to json: inout JSONWriter
    ) {
        json.name(name)
        json.beginObject()
        for (kind, count) in counts {
            json.name(text(kind))
            json.value(count)
        }
        json.endObject()
    }

    /// Whether the progress is final.
    package var isComplete: Bool {
        guard let plannerPart else { return false }
        switch plannerPart.verdict {
        case .planned, .stopping, .cancelRefused: return laneTallies.count >= plannerPart.laneCount
        case .held: return false
        case .superseded, .conflict, .newerState, .ended, .outdated, .expired, .refused, .unknownApp,
            .cancelled:
            return true
        }
    }

    /// Whether the send reached nothing because its group is unknown: no start was seen, and no phone has reported
    /// an activity of the group.
    package var isUnknownGroup: Bool {
        let hasNoStart = plannerPart?.verdict == .planned && plannerPart?.generation == 0
        let hasNoRecipient = laneTallies.values.allSatisfy { $0.targeted == 0 }
        return isComplete && hasNoStart && hasNoRecipient
    }

    /// The state of the send: the planner's verdict if there is one.
    package var stateName: String {
        plannerPart?.verdict.rawValue ?? (dueAt == nil ? "accepted" : "scheduled")
    }
}

extension ProgressRecord.PlannerPart {
    /// Copies the values with which the send was planned to a part about its cancel, which does not have them.
    fileprivate func copyPlan(to part: inout ProgressRecord.PlannerPart) {
        part.version = version
        part.generation = generation
        part.laneCount = laneCount
    }
}
