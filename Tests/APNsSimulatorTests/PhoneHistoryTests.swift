import Identifiers
import JSON
import Payloads
import Simulation
import Testing

@testable import APNsSimulator

/// A second, plain implementation of the phones' rules: all activities ever, in a list that is searched from end to
/// end. Times are milliseconds since 1970, timestamps are seconds.
private struct PhoneModel {
    struct Activity {
        /// The longest time for which an ended activity stays on the screen: four hours.
        static let shownAfterEndMilliseconds: Int64 = 4 * 3_600_000

        var phone: Int
        var token: PushToken?
        var score: Int
        var timestamp: Int64
        var startedAt: Int64
        var staleAt: Int64?
        var endedAt: Int64?
        /// When an ended activity leaves the screen.
        var leavesAt: Int64?
        var isRemoved = false

        mutating func advance(to now: Int64) {
            // The system ends an activity after eight hours.
            let systemEndAt = startedAt + 8 * 3_600_000
            if endedAt == nil, now >= systemEndAt {
                endedAt = systemEndAt
                leavesAt = systemEndAt + Self.shownAfterEndMilliseconds
            }
            if let leavesAt, now >= leavesAt { isRemoved = true }
        }

        func state(at now: Int64) -> String {
            if endedAt != nil { return "ended" }
            return staleAt.map { $0 <= now } == true ? "stale" : "active"
        }
    }

    var activities: [Activity] = []
    var away: Set<Int> = []
    /// The newest push for each phone that is away.
    var storedPushes: [Int: (token: PushToken, payload: PushPayload)] = [:]

    mutating func advance(to now: Int64) {
        for index in activities.indices { activities[index].advance(to: now) }
    }

    func runningCount(onPhone phone: Int) -> Int {
        activities.count { $0.phone == phone && !$0.isRemoved && $0.endedAt == nil }
    }

    /// Shows a push if the activity runs and the timestamp is newer than its own.
    mutating func update(_ token: PushToken, _ payload: PushPayload, score: Int?, at now: Int64) {
        guard let index = activities.firstIndex(where: { $0.token == token }) else { return }
        let isRunning = !activities[index].isRemoved && activities[index].endedAt == nil
        guard isRunning, let timestamp = payload.timestamp, timestamp > activities[index].timestamp else {
            return
        }
        activities[index].timestamp = timestamp
        if let score { activities[index].score = score }
        activities[index].staleAt = payload.staleDate.map { $0 * 1_000 }
        if payload.event == .end {
            activities[index].endedAt = now
            let dismissedAt = payload.dismissalDate.map { max($0 * 1_000, now) }
            activities[index].leavesAt = min(dismissedAt ?? .max, now + Activity.shownAfterEndMilliseconds)
        }
        advance(to: now)
    }

    /// The activities on a phone's screen, newest first, as "score timestamp state".
    func shown(_ phone: Int, at now: Int64) -> [String] {
        activities.filter { $0.phone == phone && !$0.isRemoved }.reversed()
            .map { "\($0.score) \($0.timestamp) \($0.state(at: now))" }
    }
}

/// A random history of phones, in which the model gets the same events.
private struct History {
    static let phones = 4
    var fixture = PhonesFixture(History.phones, settings: { $0.stateReportShare = 0.5 })
    var model = PhoneModel()
    var generator: SeededGenerator
    /// The newest timestamp ever shown, by activity.
    var newestTimestamps: [String: Int64] = [:]

    private var seconds: Int64 { fixture.nowSeconds }

    mutating func takeRandomStep() {
        let phone = generator.number(below: Self.phones)
        switch generator.number(below: 20) {
        case 0...2: start(phone)
        case 3...10: push(phone)
        case 11...13: fixture.now += Int64(generator.number(below: 90_000))
        case 14: fixture.now += Int64(generator.number(below: 5 * 3_600_000))
        case 15: dismiss(phone)
        case 16: rotate(phone)
        case 17: leave(phone)
        default: comeBack(phone)
        }
        fixture.tick()
        model.advance(to: fixture.now)
    }

    private mutating func start(_ phone: Int) {
        guard !model.away.contains(phone) else { return }
        let score = generator.number(below: 100)
        let timestamp = seconds + Int64(generator.number(below: 5)) - 2
        let effect = fixture.send(
            fixture.startPayload(score: score, at: timestamp), to: fixture.startToken(phone))
        guard model.runningCount(onPhone: phone) < 5 else {
            #expect(effect == .tooManyActivities)
            return
        }
        #expect(effect == .started)
        let index = fixture.phones.activityIndices(ofPhone: phone)[0]
        model.activities.append(
            .init(
                phone: phone, token: fixture.phones.updateToken(ofActivity: index), score: score,
                timestamp: timestamp, startedAt: fixture.now))
    }

    /// Pushes to any token that ever existed.
    private mutating func push(_ phone: Int) {
        let own = model.activities.filter {
            $0.phone == phone && (!$0.isRemoved || generator.number(below: 4) == 0)
        }
        guard let activity = own.randomElement(using: &generator), let token = activity.token else { return }
        let isEnd = generator.number(below: 12) == 0
        let score = isEnd && generator.number(below: 2) == 0 ? nil : generator.number(below: 100)
        var payload = fixture.updatePayload(score ?? 0, at: seconds + Int64(generator.number(below: 7)) - 3)
        if score == nil { payload.contentState = nil }
        payload.event = isEnd ? .end : .update
        if isEnd {
            if generator.number(below: 2) == 0 {
                payload.dismissalDate = seconds + Int64(generator.number(below: 20_000)) - 100
            }
        } else if generator.number(below: 3) == 0 {
            payload.staleDate = seconds + Int64(generator.number(below: 600)) - 10
        }
        fixture.send(payload, to: token)
        if model.away.contains(phone) {
            model.storedPushes[phone] = (token, payload)
        } else {
            model.update(token, payload, score: score, at: fixture.now)
        }
    }

    private mutating func dismiss(_ phone: Int) {
        guard let activity = fixture.screen(ofPhone: phone).activities.randomElement(using: &generator),
            let shown = fixture.phones.activityIndices(ofPhone: phone).first(where: {
                fixture.phones.activityID(
                    index: $0, slotGeneration: fixture.phones.activities[$0].slotGeneration) == activity.id
            })
        else { return }
        let token = fixture.phones.updateToken(ofActivity: shown)
        #expect(fixture.phones.dismiss(activity: activity.id, onPhone: phone, at: fixture.now))
        let index = model.activities.firstIndex { $0.token == token }
        if let index {
            model.activities[index].isRemoved = true
        } else {
            Issue.record("the model does not know the token")
        }
    }

    private mutating func rotate(_ phone: Int) {
        guard let shown = fixture.phones.activityIndices(ofPhone: phone).first else { return }
        let old = fixture.phones.updateToken(ofActivity: shown)
        fixture.phones.rotateUpdateToken(ofActivity: shown, at: fixture.now)
        let index = model.activities.firstIndex { $0.token == old }
        if let index { model.activities[index].token = fixture.phones.updateToken(ofActivity: shown) }
    }

    private mutating func leave(_ phone: Int) {
        if model.away.contains(phone) { return }
        model.away.insert(phone)
        fixture.phones.takeOffline(phone: phone, until: .max)
    }

    private mutating func comeBack(_ phone: Int) {
        guard model.away.contains(phone) else { return }
        model.away.remove(phone)
        fixture.phones.bringOnline(phone: phone, at: fixture.now)
        model.advance(to: fixture.now)
        if let (token, payload) = model.storedPushes.removeValue(forKey: phone) {
            let text = payload.contentState.map { String(decoding: $0.bytes, as: UTF8.self) }
            let score = text.flatMap { Int(Self.score(in: $0)) }
            model.update(token, payload, score: score, at: fixture.now)
        }
    }

    /// Returns the digits of a content state such as `{"score":7}`.
    private static func score(in contentState: String) -> String {
        String(contentState.dropFirst(#"{"score":"#.count).dropLast())
    }

    /// Returns whether the phones and the model show the same, no timestamp has gone back, and no table has leaked.
    mutating func compare() -> Bool {
        for phone in 0..<Self.phones {
            let view = fixture.screen(ofPhone: phone)
            let shown = view.activities.map { activity in
                let score = activity.text.map { Self.score(in: $0) } ?? "?"
                return "\(score) \(activity.timestamp) \(activity.state.rawValue)"
            }
            guard shown == model.shown(phone, at: fixture.now) else {
                Issue.record(
                    "phone \(phone) shows \(shown), the model \(model.shown(phone, at: fixture.now))")
                return false
            }
            for activity in view.activities {
                guard activity.timestamp >= newestTimestamps[activity.id, default: .min] else {
                    Issue.record("\(activity.id) went back to \(activity.timestamp)")
                    return false
                }
                newestTimestamps[activity.id] = activity.timestamp
            }
        }
        return tablesHaveNoLeaks()
    }

    private func tablesHaveNoLeaks() -> Bool {
        let shownCount = model.activities.count { !$0.isRemoved }
        let phones = fixture.phones
        // All activities are in one group.
        let activitiesFit = phones.activities.count { $0.state != .free } == shownCount
        let groupsFit = phones.groups.count == min(1, shownCount)
        let contentsFit = phones.contents.count <= shownCount
        let storeFits = phones.storedPushes.count <= Self.phones
        return activitiesFit && groupsFit && contentsFit && storeFits
    }
}

@Test func `phones behave like a plain model in all histories`() {
    for seed in 0..<trialCount(base: 60) {
        var history = History(generator: SeededGenerator(seed: seed))
        for step in 0..<250 {
            history.takeRandomStep()
            guard history.compare() else {
                Issue.record("seed \(seed), step \(step)")
                return
            }
        }
    }
}

/// Returns a start whose fields are changed at random. Few of the results are valid.
private func randomPayload(
    in fixture: PhonesFixture, numbers: [Int64?], using generator: inout SeededGenerator
) -> PushPayload {
    var payload = fixture.startPayload(
        group: generator.number(below: 2) == 0 ? "m\(generator.number(below: 3))" : nil)
    payload.event = [nil, .start, .update, .end][generator.number(below: 4)]
    payload.timestamp = numbers[generator.number(below: 7)]
    payload.staleDate = numbers[generator.number(below: 7)]
    payload.dismissalDate = numbers[generator.number(below: 7)]
    payload.channel = [nil, "a", "b"][generator.number(below: 3)]
    if generator.number(below: 4) == 0 {
        payload.contentState = raw(["[]", "{}", "1", "null"][generator.number(below: 4)])
    }
    if generator.number(below: 9) == 0 {
        payload.attributes = raw(["[]", "{}", "null"][generator.number(below: 3)])
    }
    return payload
}

/// Returns a token of a phone that may exist, or a channel.
private func randomTarget(
    in fixture: PhonesFixture, using generator: inout SeededGenerator
) -> AcceptedPush.Target {
    let identity = PhoneTokens.Identity(
        kind: generator.number(below: 2) == 0 ? .start : .update, phone: generator.number(below: 4),
        index: generator.number(below: 5), slotGeneration: UInt16(generator.number(below: 3)),
        generation: UInt16(generator.number(below: 2)))
    if generator.number(below: 4) == 0 { return .channel(["a", "b"][generator.number(below: 2)]) }
    return .token(fixture.phones.tokens.token(of: identity))
}

@Test func `random payloads on random tokens never trap`() {
    for seed in 0..<trialCount(base: 20) {
        var generator = SeededGenerator(seed: seed)
        var fixture = PhonesFixture(
            3,
            settings: {
                $0.updateBudget = .init(pushes: 3, milliseconds: 10_000)
                $0.throttling = .delay(milliseconds: 100)
            })
        let numbers: [Int64?] = [nil, 0, -1, .max, .min, fixture.nowSeconds, fixture.now]
        for _ in 0..<300 {
            let payload = randomPayload(in: fixture, numbers: numbers, using: &generator)
            let target = randomTarget(in: fixture, using: &generator)
            let push = fixture.push(
                payload, target, priority: generator.number(below: 12),
                expiration: numbers[generator.number(below: 7)],
                isStored: generator.number(below: 2) == 0)
            if case .token(let token) = target { _ = fixture.status(of: token) }
            fixture.phones.deliver(push)
            if generator.number(below: 5) == 0 {
                fixture.phones.takeOffline(
                    phone: generator.number(below: 3),
                    until: fixture.now + Int64(generator.number(below: 9_000)))
            }
            fixture.pass(seconds: Double(generator.number(below: 4_000)) / 10)
        }
    }
}
