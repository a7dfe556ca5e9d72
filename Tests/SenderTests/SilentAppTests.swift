import APNs
import Jobs
import Lifecycle
import Testing

@testable import Sender

/// Tests of apps to which APNs gives no answers. A `DeliveryPlan` has one lane, in which four sheets may be begun at a
/// time (the window). The apps whose names begin with `silent` get no answers and have no free streams. Their sheets
/// fill the window, and must move to a tier, so that the sheets of the app `shop` behind them can leave.
@Suite struct SilentAppTests {
    private static let stepMilliseconds = 100

    private var plan: DeliveryPlan
    private var time = CurrentTime.testStart
    /// The number of pushes that the connections of silent apps still take.
    private var silentCapacity = 0
    /// The silent app that APNs answers again.
    private var answeringApp = ""
    /// Whether the silent apps have no connection yet.
    private var isConnecting = false
    /// The apps of the pushes that left.
    private var pushedApps: [String] = []
    /// The sheets that moved to a tier.
    private var movedSheets: [(app: String, tier: LaterTier, origin: SheetOrigin)] = []

    init() throws {
        var limits = SenderLimits()
        limits.window = 4
        plan = DeliveryPlan(limits, seed: 1)
        plan.supersededIsRead()
        plan.assigned([LaneStart(lane: 0, metadata: .returnedInOrder(window: limits.window))])
        plan.receiptReadEnded(lane: 0, until: 0, at: time)
    }

    /// Delivers a sheet with one phone for each of the apps, from offset 0 on.
    ///
    /// - Parameter isFirst: Whether these are the first sheets of the lane. Before their pushes the plan must commit
    ///   metadata.
    private mutating func arrive(_ apps: String..., topic: JobTopic = .normal, isFirst: Bool = true) throws {
        for (offset, app) in apps.enumerated() {
            let record = try SheetRecord.update(
                of: app, to: "\(offset)", in: "g\(offset)", version: Int64(offset) + 1, at: time)
            plan.arrived(record, from: topic, lane: 0, offset: Int64(offset), at: time)
        }
        if isFirst { plan.commitMetadata(at: time) }
    }

    /// Lets time pass in steps. All writes are stored and all commits succeed.
    private mutating func run(milliseconds: Int, silentCapacity: Int = 0) {
        self.silentCapacity = silentCapacity
        for _ in 0..<max(1, milliseconds / Self.stepMilliseconds) {
            time.advance(byMilliseconds: Self.stepMilliseconds)
            plan.leased(until: time.now.advanced(byMilliseconds: 5_000))
            var capacity = self.silentCapacity
            // Copies, because the closure may not access this test while the plan changes.
            let isSilent = isSilent
            let isConnecting = isConnecting
            plan.step(at: time) { sheet, _ in
                guard isSilent(sheet.head.app) else { return .open(capacity: 100) }
                // The connections take these pushes once in a step.
                let capacityNow = capacity
                capacity = 0
                return isConnecting ? .connecting(capacity: capacityNow) : .open(capacity: capacityNow)
            }
            carryOut()
        }
    }

    /// Returns whether APNs does not answer an app.
    private var isSilent: (String) -> Bool {
        { [answeringApp] in $0.hasPrefix("silent") && $0 != answeringApp }
    }

    /// Carries out the plan's actions until there are no more: each step may add some.
    private mutating func carryOut() {
        for _ in 0..<10 {
            let actions = plan.actions
            plan.actions.removeAll()
            for push in actions.pushes {
                pushedApps.append(push.sheet.head.app)
                if isSilent(push.sheet.head.app) {
                    silentCapacity = 0
                } else {
                    plan.accepted(push.tag, at: time)
                }
            }
            for (id, write) in actions.writes {
                if case .tier(let tier, let origin) = write.content {
                    movedSheets.append((write.sheet?.head.app ?? "", tier, origin))
                }
                plan.stored(id, offset: Int64(id), at: time)
            }
            if !actions.commits.isEmpty { plan.committed(actions.commitNumber, isAccepted: true, at: time) }
            let isSilent = isSilent
            let isConnecting = isConnecting
            plan.step(at: time) { sheet, _ in
                guard isSilent(sheet.head.app) else { return .open(capacity: 100) }
                return isConnecting ? .connecting(capacity: 0) : .open(capacity: 0)
            }
        }
    }

    @Test mutating func `an app without answers makes room for sheets behind it`() throws {
        try arrive("silent", "silent", "silent", "silent", "shop", "shop")
        run(milliseconds: 1_500)
        #expect(pushedApps.isEmpty)
        #expect(movedSheets.isEmpty, "the silence is still short")
        run(milliseconds: 3_000)
        #expect(pushedApps == ["shop", "shop"])
        #expect(movedSheets.count == 4)
        #expect(movedSheets.allSatisfy { $0.app == "silent" && $0.tier == .seconds5 })
        #expect(
            movedSheets.allSatisfy {
                $0.origin.earlierTries == 0 && $0.origin.reason == "apns_silent"
            })
    }

    @Test mutating func `an app without answers keeps its place if nothing waits behind it`() throws {
        try arrive("silent", "silent", "shop")
        run(milliseconds: 60_000)
        #expect(pushedApps == ["shop"])
        #expect(movedSheets.isEmpty)
    }

    @Test mutating func `an app that is alone makes no room`() throws {
        plan.hasSeveralApps = false
        try arrive("silent", "silent", "silent", "silent", "silent")
        run(milliseconds: 60_000)
        #expect(movedSheets.isEmpty)
    }

    @Test(arguments: [(0, LaterTier.seconds5), (40_000, .minutes2)])
    mutating func `after a very long silence a sheet from a tier moves to the longer one`(
        silenceMilliseconds: Int, tier: LaterTier
    ) throws {
        // The only app keeps its place, and its silence grows.
        try arrive("silent", topic: .urgent)
        run(milliseconds: silenceMilliseconds)
        try arrive("silent", "silent", "silent", "silent", "shop", topic: .later5s, isFirst: false)
        run(milliseconds: 5_000)
        #expect(pushedApps == ["shop"])
        #expect(movedSheets.count == 4)
        #expect(movedSheets.allSatisfy { $0.tier == tier })
    }

    @Test mutating func `while APNs answers no app, all keep their place`() throws {
        try arrive("silent", "silent", "silent2", "silent2", "silent", "silent2")
        run(milliseconds: 18_000)
        #expect(movedSheets.isEmpty)
        run(milliseconds: 4_000)
        #expect(movedSheets.count == 4 && movedSheets.allSatisfy { $0.tier == .seconds5 })
    }

    @Test mutating func `when APNs answers again, each app has two seconds more`() throws {
        try arrive("silent", "silent2", "silent", "silent", "silent", "silent")
        run(milliseconds: 10_000)
        answeringApp = "silent2"
        run(milliseconds: 1_500)
        #expect(pushedApps == ["silent2"] && movedSheets.isEmpty)
        run(milliseconds: 1_500)
        #expect(pushedApps == ["silent2"] && movedSheets.count == 3)
    }

    @Test mutating func `silence begins when a connection exists`() throws {
        isConnecting = true
        try arrive("silent", "silent", "silent", "silent", "shop")
        run(milliseconds: 10_000)
        #expect(movedSheets.isEmpty)
        isConnecting = false
        run(milliseconds: 1_500)
        #expect(movedSheets.isEmpty)
        run(milliseconds: 1_500)
        #expect(pushedApps == ["shop"] && movedSheets.count == 4)
    }

    @Test mutating func `an app that never gets a connection makes room eventually`() throws {
        isConnecting = true
        try arrive("silent", "silent", "silent", "silent", "shop")
        run(milliseconds: 30_000)
        #expect(pushedApps == ["shop"] && movedSheets.count == 4)
    }

    @Test mutating func `a push without an answer moves to a tier when its time is over`() throws {
        try arrive("silent", "silent", "silent", "silent", "shop")
        run(milliseconds: 100, silentCapacity: 1)
        #expect(pushedApps == ["silent"])
        run(milliseconds: 3_000)
        #expect(movedSheets.count == 3)
        #expect(pushedApps == ["silent"], "the first sheet holds up the window while its push is in flight")
        // The push of the first sheet has the tag 0, because it is line 0 in slot 0.
        plan.ended(0, as: PushAnswer(.unknown(.connectionLost)), at: time)
        run(milliseconds: 500)
        #expect(movedSheets.count == 4 && movedSheets.last?.origin.earlierTries == 1)
        #expect(pushedApps == ["silent", "shop"])
    }
}
