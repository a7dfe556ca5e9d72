package import IngestTesting
internal import LiveActivity
internal import Simulation
internal import Telemetry
internal import Topics

/// Expanded sends of a typical backend: groups of any size that are started, updated and ended, and private
/// groups of single recipients. Versions rise from send to send and are the timestamps of the bodies.
package struct JobMix {
    private struct Group {
        let name: String
        let app: App
        let environment: Environment
        let phones: Range<Int>
        let isPrivate: Bool
        let conflates: Bool
        let jobsPerSheet: Int
        let generation: Int64
    }

    /// Limit of groups that exist at a time.
    private static let groupsMax = 60
    private static let livesSeconds: Int64 = 3_600

    private let writer: JobWriter
    private let lanes: Int
    private var chance: SeededGenerator
    private var groups: [Group] = []
    private var groupsMade = 0
    private var phonesMade = 0
    private var version: Int64 = 1_763_600_000
    /// Number of written jobs.
    package private(set) var jobs = 0

    package init(_ bed: IngestBed, seed: UInt64) throws {
        writer = try JobWriter(bed)
        lanes = bed.layout.lanes
        chance = SeededGenerator(seed)
    }

    /// Writes at least this many jobs. It may write a few more.
    package mutating func write(_ count: Int) {
        let goal = jobs + count
        while jobs < goal { next() }
    }

    package func finish() -> Bool { writer.finish() }

    private mutating func next() {
        let dice = chance.below(100)
        if groups.isEmpty || dice < 10 && groups.count < Self.groupsMax { return begin() }
        let index = chance.below(groups.count)
        if dice < 14 {
            let group = groups.remove(at: index)
            send(.end, to: group)
        } else {
            send(.update, to: groups[index])
        }
    }

    private mutating func begin() {
        groupsMade += 1
        let kind = chance.below(10)
        let size = kind < 3 ? 1 : kind < 8 ? 20 + chance.below(200) : 1_000 + chance.below(2_000)
        let app = SenderBed.apps[chance.below(SenderBed.apps.count)]
        let group = Group(
            name: "group-\(groupsMade)", app: app,
            environment: app.id == "news" && chance.below(2) == 0 ? .sandbox : .production,
            phones: phonesMade..<phonesMade + size, isPrivate: size == 1, conflates: chance.below(5) > 0,
            jobsPerSheet: 1 + chance.below(256), generation: version + 1)
        phonesMade += size
        groups.append(group)
        send(.start, to: group)
    }

    private mutating func send(_ event: PushEvent, to group: Group) {
        version += 1
        let now = WallTime.now().milliseconds
        var head = SheetHead(
            topic: group.app.bundleID + ".push-type.liveactivity", priority: 10,
            expiration: now / 1000 + Self.livesSeconds, app: group.app.id, environment: group.environment,
            send: "s\(version)", group: group.name, scope: group.isPrivate ? .recipient : .group,
            generation: group.generation, version: version, event: event,
            deadline: now / 1000 + Self.livesSeconds, acceptedAt: now)
        head.isConflatable = group.conflates
        if !group.isPrivate, event != .start {
            let end = event == .end ? version : 0
            writer.write(
                SupersededVersions(
                    app: group.app.id, group: group.name, updateVersion: event == .update ? version : 0,
                    endVersion: end))
        }
        write(head, to: group)
    }

    private mutating func write(_ head: SheetHead, to group: Group) {
        let topic: TopicName = group.isPrivate ? .jobsUrgent : .jobs
        let body = body(of: head)
        for lane in 0..<lanes {
            var lines = JobLines()
            let first = group.phones.lowerBound + (lane + lanes - group.phones.lowerBound % lanes) % lanes
            for phone in stride(from: first, to: group.phones.upperBound, by: lanes) {
                lines.append(TestPhone(phone), event: head.event)
                if lines.count == group.jobsPerSheet {
                    writer.write(head, lines, body: body, lane: Int32(lane), to: topic)
                    lines.removeAll()
                }
            }
            if lines.count > 0 { writer.write(head, lines, body: body, lane: Int32(lane), to: topic) }
        }
        jobs += group.phones.count
    }

    private func body(of head: SheetHead) -> [UInt8] {
        let start =
            head.event == .start
            ? #","attributes-type":"MatchAttributes","attributes":{},"alert":{"title":"a","body":"b"}"# : ""
        return Array(
            #"{"aps":{"timestamp":\#(head.version),"event":"\#(head.event.rawValue)","content-state":{"home":1}\#(start)}}"#
                .utf8)
    }
}
