import APNs
import Jobs
import Lifecycle
import Testing

@testable import Sender

/// One lane in one process with two apps. APNs does not answer one of them.
@Suite struct SilentAppTests {
    private static let start = CurrentTime(
        now: Instant(nanoseconds: 1_000_000_000_000), unixMilliseconds: 1_763_600_000_000)

    private var plan: DeliveryPlan
    private var time = SilentAppTests.start
    private var pushed: [String] = []
    private var roomLeft = 0
    /// The silent app that APNs answers again.
    private var answering = ""
    private var isConnecting = false
    private var moved: [(app: String, tier: LaterTier, origin: SheetOrigin)] = []

    init() throws {
        var limits = SenderLimits()
        limits.window = 4
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        // An earlier owner gave the lane back in order.
        let metadata = CommitMetadata(receiptsFrom: 0, window: limits.window, endedAt: 0)
        plan.assigned([
            LaneStart(
                lane: 0,
                partitions: JobTopic.allCases.map { _ in LanePartitionStart(base: 0, metadata: metadata) })
        ])
        plan.receiptsWereRead(lane: 0, until: 0, at: time)
    }

    private mutating func arrive(_ apps: String..., topic: JobTopic = .normal, isFirst: Bool = true) throws {
        for (offset, app) in apps.enumerated() {
            let record = try SheetRecord.update(
                of: app, to: "\(offset)", in: "g\(offset)", version: Int64(offset) + 1, at: time)
            plan.arrived(record, from: topic, lane: 0, offset: Int64(offset), at: time)
        }
        if isFirst { plan.commitMetadata(at: time) }
    }

    /// Lets time pass in turns. All writes are stored and all commits succeed.
    private mutating func live(milliseconds: Int, roomOfSilent: Int = 0) {
        roomLeft = roomOfSilent
        for _ in 0..<max(1, milliseconds / 100) {
            time.now = time.now.advanced(byMilliseconds: 100)
            time.unixMilliseconds += 100
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            var room = roomLeft
            let (isSilent, isConnecting) = (isSilent, isConnecting)
            plan.turn(at: time) { sheet, _ in
                guard isSilent(sheet.head.app) else { return .open(capacity: 100) }
                defer { room = 0 }
                return isConnecting ? .connecting(capacity: room) : .open(capacity: room)
            }
            carryOut()
        }
    }

    private var isSilent: (String) -> Bool {
        { [answering] in $0.hasPrefix("silent") && $0 != answering }
    }

    private mutating func carryOut() {
        for _ in 0..<10 {
            let actions = plan.actions
            plan.actions.removeAll()
            for push in actions.pushes {
                pushed.append(push.sheet.head.app)
                if isSilent(push.sheet.head.app) {
                    roomLeft = 0
                } else {
                    plan.accepted(push.tag, at: time)
                }
            }
            for (id, write) in actions.writes {
                if case .tier(let tier, let origin) = write.content {
                    moved.append((write.sheet?.head.app ?? "", tier, origin))
                }
                plan.stored(id, offset: Int64(id), at: time)
            }
            if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isDone: true, at: time) }
            let (isSilent, isConnecting) = (isSilent, isConnecting)
            plan.turn(at: time) { sheet, _ in
                guard isSilent(sheet.head.app) else { return .open(capacity: 100) }
                return isConnecting ? .connecting(capacity: 0) : .open(capacity: 0)
            }
        }
    }

    @Test func `an app without answers makes room for sheets behind it`() throws {
        var test = self
        try test.arrive("silent", "silent", "silent", "silent", "shop", "shop")
        test.live(milliseconds: 1_500)
        #expect(test.pushed.isEmpty && test.moved.isEmpty, "APNs has time to answer first")
        test.live(milliseconds: 3_000)
        #expect(test.pushed == ["shop", "shop"])
        #expect(test.moved.count == 4 && test.moved.allSatisfy { $0.app == "silent" && $0.tier == .seconds5 })
        #expect(test.moved.allSatisfy { $0.origin.countedPushes == 0 && $0.origin.reason == "apns_silent" })
    }

    @Test func `an app without answers keeps its place if nothing waits behind it`() throws {
        var test = self
        try test.arrive("silent", "silent", "shop")
        test.live(milliseconds: 60_000)
        #expect(test.pushed == ["shop"] && test.moved.isEmpty)
    }

    @Test func `an app that is alone makes no room`() throws {
        var test = self
        test.plan.hasSeveralApps = false
        try test.arrive("silent", "silent", "silent", "silent", "silent")
        test.live(milliseconds: 60_000)
        #expect(test.moved.isEmpty)
    }

    @Test(arguments: [(0, LaterTier.seconds5), (40_000, .minutes2)])
    func `after a very long silence a sheet from a tier moves to the longer one`(
        milliseconds: Int, tier: LaterTier
    ) throws {
        var test = self
        // The only app keeps its place, and its silence grows.
        try test.arrive("silent", topic: .urgent)
        test.live(milliseconds: milliseconds)
        try test.arrive("silent", "silent", "silent", "silent", "shop", topic: .later5s, isFirst: false)
        test.live(milliseconds: 5_000)
        #expect(test.pushed == ["shop"])
        #expect(test.moved.count == 4 && test.moved.allSatisfy { $0.tier == tier })
    }

    @Test func `while APNs answers no app, all keep their place`() throws {
        var test = self
        try test.arrive("silent", "silent", "silent2", "silent2", "silent", "silent2")
        test.live(milliseconds: 18_000)
        #expect(test.moved.isEmpty)
        test.live(milliseconds: 4_000)
        #expect(test.moved.count == 4 && test.moved.allSatisfy { $0.tier == .seconds5 })
    }

    @Test func `when APNs answers again, each app has two seconds more`() throws {
        var test = self
        try test.arrive("silent", "silent2", "silent", "silent", "silent", "silent")
        test.live(milliseconds: 10_000, roomOfSilent: 0)
        test.answering = "silent2"
        test.live(milliseconds: 1_500)
        #expect(test.pushed == ["silent2"] && test.moved.isEmpty)
        test.live(milliseconds: 1_500)
        #expect(test.pushed == ["silent2"] && test.moved.count == 3)
    }

    @Test func `silence begins when a connection exists`() throws {
        var test = self
        test.isConnecting = true
        try test.arrive("silent", "silent", "silent", "silent", "shop")
        test.live(milliseconds: 10_000)
        #expect(test.moved.isEmpty)
        test.isConnecting = false
        test.live(milliseconds: 1_500)
        #expect(test.moved.isEmpty)
        test.live(milliseconds: 1_500)
        #expect(test.pushed == ["shop"] && test.moved.count == 4)
    }

    @Test func `an app that never gets a connection makes room eventually`() throws {
        var test = self
        test.isConnecting = true
        try test.arrive("silent", "silent", "silent", "silent", "shop")
        test.live(milliseconds: 30_000)
        #expect(test.pushed == ["shop"] && test.moved.count == 4)
    }

    @Test func `a push without an answer moves to a tier when its time is over`() throws {
        var test = self
        try test.arrive("silent", "silent", "silent", "silent", "shop")
        test.live(milliseconds: 100, roomOfSilent: 1)
        #expect(test.pushed == ["silent"])
        test.live(milliseconds: 3_000)
        #expect(test.moved.count == 3)
        #expect(test.pushed == ["silent"], "the first holds up the window while it is in flight")
        test.plan.ended(0, as: PushAnswer(.unknown(.connectionLost)), at: test.time)
        test.live(milliseconds: 500)
        #expect(test.moved.count == 4 && test.moved.last?.origin.countedPushes == 1)
        #expect(test.pushed == ["silent", "shop"])
    }
}
