package import JSON

/// What has become of a send so far: a record of `progress`, written by the planner and, once, for every lane.
/// From these a send's total is known, and whether all of it is expanded. The planner's last word counts: what
/// it held is planned, superseded or cancelled later.
package struct Progress: Record, Hashable {
    /// Since 2 a record can be of several lanes.
    package static let schemaVersion = 2
    /// As many as there can be (`TopicLayout.lanesMax`).
    private static let lanesMax = 1000

    package enum Verdict: String, Sendable, CaseIterable {
        /// It went to the lanes.
        case planned
        /// It waits a moment, so that its version does not run ahead of the clock.
        case held
        /// A newer one took its place while it was held.
        case superseded
        /// Another body came under the same id.
        case conflict
        /// Its group, or all whom it names, had ended.
        case ended
        /// A timed send from before its group's end.
        case outdated
        /// Its deadline had passed.
        case expired
        /// The group's activity type, or who would join the group, does not take its content; `findings` say why.
        case refused
        /// The app is not in the catalogue any more.
        case unknownApp
        /// It was taken back before it went to the lanes.
        case cancelled
        /// The lanes were told to stop it.
        case stopping
    }

    package enum Part: Sendable, Hashable {
        case verdict(PlannedPart)
        /// What each of these lanes did.
        case lanes([Int], LaneTally)
    }

    /// The planner's part.
    package struct PlannedPart: Sendable, Hashable {
        package var verdict: Verdict
        package var version: Int64
        package var generation: Int64
        /// Lanes that will each write their part.
        package var lanes: Int
        package var findings: [String] = []
        /// Named recipients that were left out, as they had ended.
        package var ended = 0
        /// Whom it is for, where that is one recipient of a group that is others', too: whoever takes it back
        /// says so again.
        package var recipient: Recipient?

        package init(_ verdict: Verdict, version: Int64 = 0, generation: Int64 = 0, lanes: Int = 0) {
            self.verdict = verdict
            self.version = version
            self.generation = generation
            self.lanes = lanes
        }
    }

    package static let findingsMax = 100

    package var send: String
    package var key: GroupKey
    package var dryRun: Bool
    /// Milliseconds since 1970: when the send was accepted, and when this was written.
    package var acceptedAt: Int64
    package var at: Int64
    package var part: Part

    package init(
        send: String, key: GroupKey, dryRun: Bool, acceptedAt: Int64, at: Int64, _ part: Part
    ) {
        self.send = send
        self.key = key
        self.dryRun = dryRun
        self.acceptedAt = acceptedAt
        self.at = at
        self.part = part
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("send", send)
        writer.field(key)
        writer.field("dryRun", dryRun ? true : nil)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", at)
        switch part {
        case .verdict(let planned):
            writer.field("verdict", planned.verdict.rawValue)
            writer.field("version", planned.version)
            writer.field("generation", planned.generation)
            writer.field("lanes", planned.lanes)
            writer.field("findings", planned.findings.isEmpty ? nil : planned.findings)
            writer.field("ended", planned.ended == 0 ? nil : planned.ended)
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
            part = .lanes(Self.numbers(lanes), LaneTally(from: record))
        } else if let lane = record["lane"].optional {
            part = .lanes([Self.number(lane)], LaneTally(from: record))
        } else {
            var planned = PlannedPart(
                record["verdict"].choice(of: Verdict.self) ?? .planned, version: record["version"].version(),
                generation: record["generation"].version(),
                lanes: record["lanes"].int(in: 0...Int(Int32.max)))
            planned.findings = record["findings"].optional?.strings(countMax: Self.findingsMax) ?? []
            planned.ended = record["ended"].optional?.int(in: 0...Audience.namesMax) ?? 0
            planned.recipient = record["recipient"].optional?.recipient()
            part = .verdict(planned)
        }
        self.init(
            send: record["send"].name(), key: record.groupKey(),
            dryRun: record["dryRun"].optional?.bool() ?? false, acceptedAt: record["acceptedAt"].time(),
            at: record["at"].time(), part)
    }

    private static func numbers(_ value: JSONValue) -> [Int] {
        var numbers: [Int] = []
        var elements = value.array(countMax: lanesMax)
        while let element = elements.next() { numbers.append(number(element)) }
        return numbers
    }

    private static func number(_ value: JSONValue) -> Int { value.int(in: 0...Int(Int32.max)) }
}
