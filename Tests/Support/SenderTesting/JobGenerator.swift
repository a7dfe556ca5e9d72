internal import CatalogRecords
internal import Identifiers
package import IngestTesting
internal import Jobs
internal import Payloads
internal import Sends
internal import Simulation
internal import Telemetry
internal import Topics

/// A generator of jobs, as a fan-out writes them for the sends of a typical backend: groups of any size that are
/// started, updated and ended, and private groups of single recipients. Versions rise from send to send and are the
/// timestamps of the bodies.
package struct JobGenerator {
    private struct Group {
        let name: String
        let app: App
        let environment: Environment
        let phones: Range<Int>
        let isPrivate: Bool
        let isConflatable: Bool
        let jobsPerSheet: Int
        let generation: Int64
    }

    /// The limit of groups that exist at a time.
    private static let groupsMax = 60
    /// The deadline of a send, after now.
    private static let lifetimeSeconds: Int64 = 3_600

    private let writer: JobWriter
    private let lanes: Int
    private var random: SeededGenerator
    private var groups: [Group] = []
    private var groupCount = 0
    private var phoneCount = 0
    /// The version of the newest send, in seconds since 1970.
    private var version: Int64 = 1_763_600_000
    /// The number of written jobs.
    package private(set) var jobCount = 0

    package init(on bed: TestBed, seed: UInt64) throws {
        writer = try JobWriter(on: bed)
        lanes = bed.layout.lanes
        random = SeededGenerator(seed: seed)
    }

    /// Writes at least this many jobs. It may write a few more.
    package mutating func writeJobs(atLeast count: Int) {
        let targetCount = jobCount + count
        while jobCount < targetCount { writeNextSend() }
    }

    /// Waits for all acknowledgements. Returns whether every record is stored.
    package func finish() -> Bool { writer.finish() }

    private mutating func writeNextSend() {
        // Of 100 sends, ten start a group, four end one, and the others are updates. At the limit of groups, ends take
        // the place of starts.
        let choice = random.number(below: 100)
        let startsGroup = choice < 10 && groups.count < Self.groupsMax
        if groups.isEmpty || startsGroup { return startGroup() }
        let index = random.number(below: groups.count)
        if choice < 14 {
            let group = groups.remove(at: index)
            send(.end, to: group)
        } else {
            send(.update, to: groups[index])
        }
    }

    /// Starts a new group: three of ten are private, two of ten have thousands of phones.
    private mutating func startGroup() {
        groupCount += 1
        let size =
            switch random.number(below: 10) {
            case ..<3: 1
            case ..<8: 20 + random.number(below: 200)
            default: 1_000 + random.number(below: 2_000)
            }
        let app = SenderTestApps.apps[random.number(below: SenderTestApps.apps.count)]
        // The generation is the version of the start, which `send` makes next.
        let group = Group(
            name: "group-\(groupCount)", app: app,
            environment: app.id == "news" && random.number(below: 2) == 0 ? .sandbox : .production,
            phones: phoneCount..<phoneCount + size, isPrivate: size == 1,
            isConflatable: random.number(below: 5) > 0,
            jobsPerSheet: 1 + random.number(below: 256), generation: version + 1)
        phoneCount += size
        groups.append(group)
        send(.start, to: group)
    }

    private mutating func send(_ event: PushEvent, to group: Group) {
        version += 1
        let now = WallTime.now().milliseconds
        var head = SheetHead(
            topic: group.app.bundleID + ".push-type.liveactivity", priority: .immediate,
            expiration: now / 1000 + Self.lifetimeSeconds, app: group.app.id, environment: group.environment,
            send: "s\(version)", group: group.name, scope: group.isPrivate ? .recipient : .group,
            generation: group.generation, version: version, event: event,
            deadline: now / 1000 + Self.lifetimeSeconds, acceptedAt: now)
        head.isConflatable = group.isConflatable
        if !group.isPrivate, event != .start {
            // The planner announces newer versions, so that senders drop older jobs.
            writer.write(
                SupersededVersions(
                    app: group.app.id, group: group.name, updateVersion: event == .update ? version : 0,
                    endVersion: event == .end ? version : 0))
        }
        write(head, to: group)
    }

    /// Writes the sheets of a send. A phone belongs to the lane of its number modulo the number of lanes.
    private mutating func write(_ head: SheetHead, to group: Group) {
        let topic: TopicName = group.isPrivate ? .jobsUrgent : .jobs
        let body = body(of: head)
        for lane in 0..<lanes {
            var lines = JobLines()
            let distance = (lane + lanes - group.phones.lowerBound % lanes) % lanes
            let firstPhone = group.phones.lowerBound + distance
            for phone in stride(from: firstPhone, to: group.phones.upperBound, by: lanes) {
                lines.append(TestPhone(number: phone), event: head.event)
                if lines.count == group.jobsPerSheet {
                    writer.write(head, lines: lines, body: body, lane: Int32(lane), to: topic)
                    lines.removeAll()
                }
            }
            if lines.count > 0 { writer.write(head, lines: lines, body: body, lane: Int32(lane), to: topic) }
        }
        jobCount += group.phones.count
    }

    private func body(of head: SheetHead) -> [UInt8] {
        let startFields =
            head.event == .start
            ? #","attributes-type":"MatchAttributes","attributes":{},"alert":{"title":"a","body":"b"}"# : ""
        let commonFields =
            #""timestamp":\#(head.version),"event":"\#(head.event.rawValue)","content-state":{"home":1}"#
        return Array(#"{"aps":{\#(commonFields)\#(startFields)}}"#.utf8)
    }
}
