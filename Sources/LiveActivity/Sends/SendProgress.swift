package import JSON

/// What is known of one send: the planner's part and what each lane wrote, in any order.
package struct SendProgress: Sendable {
    package let id: String
    package private(set) var key: GroupKey?
    /// Whom it is for, where that is one recipient of a group that is others', too: who takes it back says so.
    package private(set) var recipient: Recipient?
    package private(set) var planned: Progress.PlannedPart?
    package private(set) var lanes: [Int: LaneTally] = [:]
    /// Other bodies that came under its id, which were not carried out: their idempotency key was this one's.
    package private(set) var conflicts = 0
    package private(set) var isDryRun = false
    package private(set) var acceptedAt: Int64?
    package private(set) var at: Int64?
    /// Of a send that waits for its time: whose timer it is, and when it goes, in milliseconds since 1970.
    package private(set) var timer: (owner: ScheduleOwner, dueAt: Int64)?

    package init(id: String) { self.id = id }

    /// It lies in `sends`, and nobody has planned it yet.
    package init(waiting send: Send) {
        id = send.id
        key = send.groupKey
        if send.group != nil, send.owner == nil, case .users(let users) = send.audience, users.count == 1 {
            recipient = .user(users[0])
        }
        acceptedAt = send.acceptedAt
        isDryRun = send.dryRun
    }

    /// It waits for its time.
    package init(waiting row: TimerRow) {
        self.init(waiting: row.send)
        timer = (row.owner, row.dueAt)
    }

    /// A later record of the planner, or of a lane, takes the place of an earlier one.
    package mutating func add(_ progress: Progress) {
        key = progress.key
        isDryRun = progress.dryRun
        acceptedAt = acceptedAt ?? progress.acceptedAt
        at = max(at ?? 0, progress.at)
        switch progress.part {
        case .verdict(let part): add(part)
        case .lanes(let numbers, let tally): for number in numbers { lanes[number] = tally }
        }
    }

    private mutating func add(_ part: Progress.PlannedPart) {
        if part.verdict == .conflict {
            conflicts += 1
            // It says nothing of the body that came first.
            if planned != nil { return }
        }
        // It was taken back while it waited for its time: the lanes have nothing to stop.
        if part.verdict == .stopping, planned?.verdict == .cancelled { return }
        // A key that came again after its day: what the lanes did for the send before it is not this one's.
        if part.verdict == .planned, let planned, planned.verdict == .planned, planned.version != part.version
        {
            lanes = [:]
        }
        var part = part
        recipient = part.recipient ?? recipient
        // What is stopped keeps what it was planned with.
        if part.verdict == .stopping, let planned, planned.verdict == .planned {
            (part.version, part.generation, part.lanes) = (planned.version, planned.generation, planned.lanes)
        }
        planned = part
    }

    package var targeted: Int { lanes.values.reduce(0) { $0 + $1.targeted } }
    package var expanded: Int { lanes.values.reduce(0) { $0 + $1.expanded } }
    /// What a newer send made needless before it became jobs.
    package var dropped: Int { lanes.values.reduce(0) { $0 + $1.dropped } }

    /// Jobs by the phones' system: a member of an answer. What has not said its system is `unknown`.
    package func writeSystems(to json: inout JSONWriter) {
        var systems: [UInt8: Int] = [:]
        for tally in lanes.values { systems.merge(tally.systems, uniquingKeysWith: +) }
        Self.write(
            "systems", systems.sorted { $0.key < $1.key },
            as: { $0 == LaneTally.systemUnsaid ? "unknown" : String($0) }, to: &json)
    }

    /// How many were left out, by reason: a member of an answer.
    package func writeExcluded(to json: inout JSONWriter) {
        var excluded: [String: Int] = [:]
        for tally in lanes.values { excluded.merge(tally.excluded, uniquingKeysWith: +) }
        Self.write("excluded", excluded.sorted { $0.key < $1.key }, as: { $0 }, to: &json)
    }

    private static func write<Kind>(
        _ name: StaticString, _ counts: [(key: Kind, value: Int)], as text: (Kind) -> String,
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

    /// Nothing more will come.
    package var isComplete: Bool {
        guard let planned else { return false }
        switch planned.verdict {
        case .planned, .stopping: return lanes.count >= planned.lanes
        case .held: return false
        case .superseded, .conflict, .ended, .outdated, .expired, .refused, .unknownApp, .cancelled:
            return true
        }
    }

    /// A group that nobody has heard of: no start was seen, and no phone has told of it.
    package var isUnknownGroup: Bool {
        isComplete && planned?.verdict == .planned && planned?.generation == 0
            && lanes.values.allSatisfy { $0.targeted == 0 }
    }

    /// What is known of it, in the word of the planner where it has spoken.
    package var verdict: String {
        planned?.verdict.rawValue ?? (timer == nil ? "accepted" : "scheduled")
    }
}
