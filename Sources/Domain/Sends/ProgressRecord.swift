package import Identifiers
package import JSON
internal import RecordFormat

/// A part of a send's progress: a record of `progress`. The planner writes its verdict on the send, and each lane
/// writes one tally. `SendProgress` is their sum. The planner's last verdict counts, because a held send is
/// planned, superseded or cancelled later.
package struct ProgressRecord: JSONRecord, Hashable {
    /// Since version 2 one record may cover several lanes.
    package static let schemaVersion = 2
    /// The maximum number of lanes in one record, which equals `TopicLayout.lanesMax`.
    private static let lanesMax = 1000
    /// The maximum number of findings in one record.
    package static let findingsMax = 100

    /// The planner's decision about a send.
    package enum PlannerVerdict: String, Sendable, CaseIterable {
        /// The send went to the lanes.
        case planned
        /// The send waits briefly, so that its version does not run ahead of the clock.
        case held
        /// A newer send replaced it while it was held.
        case superseded
        /// Another body was sent under the same id.
        case conflict
        /// Its scope has a newer state than the version that its caller has seen.
        case newerState = "newer_state"
        /// Its group, or every recipient that it names, had ended.
        case ended
        /// It is a timed send from before its group's END.
        case outdated
        /// Its deadline had passed.
        case expired
        /// The group's activity type does not accept its content, or a start does not fit the group that it joins.
        /// `findings` give the reasons.
        case refused
        /// The app is no longer in the catalog.
        case unknownApp
        /// It was cancelled before it went to the lanes.
        case cancelled
        /// It was cancelled after it went to the lanes, and they were told to stop it.
        case stopping
        /// It went to the lanes, and its cancel was refused, so it goes on. `findings` give the reason.
        case cancelRefused

        /// Whether the lanes carry out the send.
        var isCarriedOut: Bool { self == .planned || self == .cancelRefused }
    }

    package enum Part: Sendable, Hashable {
        case planner(PlannerPart)
        /// The numbers of lanes, and the tally that each of them has.
        case lanes([Int], LaneTally)
        /// The schedule that has fired the send. The scheduler writes it together with the send.
        case schedule(FiredSchedule)
    }

    /// The schedule behind a send, as a tap is attributed to it.
    package struct FiredSchedule: Sendable, Hashable {
        package var id: String
        package var name: String?

        package init(id: String, name: String?) {
            self.id = id
            self.name = name
        }
    }

    /// The planner's part.
    package struct PlannerPart: Sendable, Hashable {
        package var verdict: PlannerVerdict
        package var version: Int64
        package var generation: Int64
        /// The number of lanes that will each write a tally.
        package var laneCount: Int
        package var findings: [String] = []
        /// The number of named recipients that were left out, because they had ended.
        package var endedRecipients = 0
        /// The recipient, if the send is for one recipient of a shared group. A cancel must name it again.
        package var recipient: Recipient?
        /// Nil in the records of versions without it.
        package var outline: SendOutline?

        package init(_ verdict: PlannerVerdict, version: Int64 = 0, generation: Int64 = 0, laneCount: Int = 0)
        {
            self.verdict = verdict
            self.version = version
            self.generation = generation
            self.laneCount = laneCount
        }
    }

    /// The id of the send, which is also the key of the record. So all parts of a send lie in one partition.
    package var send: String
    /// The scope of the send.
    package var key: ScopeKey
    package var isDryRun: Bool
    /// The time at which the gateway accepted the send, in milliseconds since 1970.
    package var acceptedAt: Int64
    /// The time at which this record was written, in milliseconds since 1970.
    package var writtenAt: Int64
    /// The id of the HTTP request that made the send.
    package var requestID: String?
    package var part: Part

    package init(
        send: String, key: ScopeKey, isDryRun: Bool, acceptedAt: Int64, writtenAt: Int64, part: Part
    ) {
        self.send = send
        self.key = key
        self.isDryRun = isDryRun
        self.acceptedAt = acceptedAt
        self.writtenAt = writtenAt
        self.part = part
    }

    /// The key of the record in the topic.
    package var recordKey: [UInt8] { RecordKey.join(send) }

    package func write(to writer: inout JSONWriter) {
        writer.field("send", send)
        writer.field(key)
        writer.field("dryRun", isDryRun ? true : nil)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", writtenAt)
        writer.field("requestId", requestID)
        switch part {
        case .planner(let plannerPart):
            writer.field("verdict", plannerPart.verdict.rawValue)
            writer.field("version", plannerPart.version)
            writer.field("generation", plannerPart.generation)
            writer.field("lanes", plannerPart.laneCount)
            writer.field("findings", plannerPart.findings.isEmpty ? nil : plannerPart.findings)
            writer.field("ended", plannerPart.endedRecipients == 0 ? nil : plannerPart.endedRecipients)
            writer.field("recipient", plannerPart.recipient)
            if let outline = plannerPart.outline {
                writer.name("outline")
                writer.beginObject()
                outline.write(to: &writer)
                writer.endObject()
            }
        case .lanes(let numbers, let tally):
            writer.name("ofLanes")
            writer.beginArray()
            for number in numbers { writer.value(number) }
            writer.endArray()
            tally.write(to: &writer)
        case .schedule(let schedule):
            writer.field("scheduleId", schedule.id)
            writer.field("scheduleName", schedule.name)
        }
    }

    package init(from record: JSONObject) {
        let part: Part
        if let lanes = record["ofLanes"].optional {
            part = .lanes(Self.laneNumbers(in: lanes), LaneTally(from: record))
        } else if let lane = record["lane"].optional {
            // Schema version 1.
            part = .lanes([Self.laneNumber(lane)], LaneTally(from: record))
        } else if let id = record["scheduleId"].optional {
            part = .schedule(FiredSchedule(id: id.name(), name: record["scheduleName"].optional?.name()))
        } else {
            var plannerPart = PlannerPart(
                record["verdict"].choice(of: PlannerVerdict.self) ?? .planned,
                version: record["version"].version(),
                generation: record["generation"].version(),
                laneCount: record["lanes"].int(in: 0...Int(Int32.max)))
            plannerPart.findings = record["findings"].optional?.strings(countMax: Self.findingsMax) ?? []
            plannerPart.endedRecipients = record["ended"].optional?.int(in: 0...Audience.namesMax) ?? 0
            plannerPart.recipient = record["recipient"].optional?.recipient()
            plannerPart.outline = (record["outline"].optional?.object()).map(SendOutline.init(from:))
            part = .planner(plannerPart)
        }
        self.init(
            send: record["send"].name(), key: record.scopeKey(),
            isDryRun: record["dryRun"].optional?.bool() ?? false,
            acceptedAt: record["acceptedAt"].timeMilliseconds(),
            writtenAt: record["at"].timeMilliseconds(), part: part)
        requestID = record["requestId"].optional?.name()
    }

    private static func laneNumbers(in value: JSONValue) -> [Int] {
        var numbers: [Int] = []
        var elements = value.array(countMax: lanesMax)
        while let element = elements.next() { numbers.append(laneNumber(element)) }
        return numbers
    }

    private static func laneNumber(_ value: JSONValue) -> Int { value.int(in: 0...Int(Int32.max)) }
}
