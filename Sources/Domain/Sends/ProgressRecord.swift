package import Identifiers
package import JSON
internal import RecordFormat

/// The progress of a send: a record of `progress`. The planner writes its part, and each lane writes once.
/// Together they give the send's totals and show whether the expansion is complete. The planner's last
/// verdict counts, because a held send is planned, superseded or cancelled later.
package struct ProgressRecord: JSONRecord, Hashable {
    /// Since version 2 one record may cover several lanes.
    package static let schemaVersion = 2
    /// The maximum number of lanes (`TopicLayout.lanesMax`).
    private static let lanesMax = 1000

    package enum PlannerVerdict: String, Sendable, CaseIterable {
        /// The send went to the lanes.
        case planned
        /// The send waits briefly, so that its version does not run ahead of the clock.
        case held
        /// A newer send replaced it while it was held.
        case superseded
        /// Another body was sent under the same id.
        case conflict
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
    }

    package enum Part: Sendable, Hashable {
        case planner(PlannerPart)
        /// The tally of each of these lanes.
        case lanes([Int], LaneTally)
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

        package init(_ verdict: PlannerVerdict, version: Int64 = 0, generation: Int64 = 0, laneCount: Int = 0)
        {
            self.verdict = verdict
            self.version = version
            self.generation = generation
            self.laneCount = laneCount
        }
    }

    package static let findingsMax = 100

    package var send: String
    package var key: ScopeKey
    package var isDryRun: Bool
    /// Milliseconds since 1970: when the send was accepted, and when this record was written.
    package var acceptedAt: Int64
    package var writtenAt: Int64
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

    package func write(to writer: inout JSONWriter) {
        writer.field("send", send)
        writer.field(key)
        writer.field("dryRun", isDryRun ? true : nil)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", writtenAt)
        switch part {
        case .planner(let planned):
            writer.field("verdict", planned.verdict.rawValue)
            writer.field("version", planned.version)
            writer.field("generation", planned.generation)
            writer.field("lanes", planned.laneCount)
            writer.field("findings", planned.findings.isEmpty ? nil : planned.findings)
            writer.field("ended", planned.endedRecipients == 0 ? nil : planned.endedRecipients)
            writer.field("recipient", planned.recipient)
        case .lanes(let numbers, let tally):
            writer.name("ofLanes")
            writer.beginArray()
            for number in numbers { writer.value(number) }
            writer.endArray()
            tally.write(to: &writer)
        }
    }

    package init(from record: JSONObject) {
        let part: Part
        if let lanes = record["ofLanes"].optional {
            part = .lanes(Self.laneNumbers(in: lanes), LaneTally(from: record))
        } else if let lane = record["lane"].optional {
            part = .lanes([Self.laneNumber(lane)], LaneTally(from: record))
        } else {
            var planned = PlannerPart(
                record["verdict"].choice(of: PlannerVerdict.self) ?? .planned,
                version: record["version"].version(),
                generation: record["generation"].version(),
                laneCount: record["lanes"].int(in: 0...Int(Int32.max)))
            planned.findings = record["findings"].optional?.strings(countMax: Self.findingsMax) ?? []
            planned.endedRecipients = record["ended"].optional?.int(in: 0...Audience.namesMax) ?? 0
            planned.recipient = record["recipient"].optional?.recipient()
            part = .planner(planned)
        }
        self.init(
            send: record["send"].name(), key: record.scopeKey(),
            isDryRun: record["dryRun"].optional?.bool() ?? false,
            acceptedAt: record["acceptedAt"].timeMilliseconds(),
            writtenAt: record["at"].timeMilliseconds(), part: part)
    }

    private static func laneNumbers(in value: JSONValue) -> [Int] {
        var numbers: [Int] = []
        var elements = value.array(countMax: lanesMax)
        while let element = elements.next() { numbers.append(laneNumber(element)) }
        return numbers
    }

    private static func laneNumber(_ value: JSONValue) -> Int { value.int(in: 0...Int(Int32.max)) }
}
