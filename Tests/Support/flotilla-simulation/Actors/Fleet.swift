import APNsSimulator
import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import Jobs
import Kafka
import Lifecycle
import Payloads
import RecordFormat
import Schedules
import Sends
import Simulation
import Topics

/// The people and machines of one app: a backend that sends, and phones that report and show.
final class Fleet {
    let app: App
    private unowned let world: World
    /// The number of the app in the story, from 0.
    private let number: Int
    /// The groups to which the backend sends at once.
    private static let groups = ["match", "final", "order"]
    private(set) var phones: [SimulatedPhone] = []
    private var phoneOfToken: [String: Int] = [:]
    private(set) var truths: [String: GroupTruth] = [:]
    /// The groups whose newest send is not accepted yet. The backend waits, so that it knows the order of its sends.
    private var waitingGroups: Set<String> = []
    /// The group whose updates are all scheduled.
    private static let timedGroup = "timed"
    /// The shortest time between two timers. A timer that is late through a fault still fires before the next.
    private static let timerPauseMilliseconds = 3000
    /// The time after which a due timer counts as a send. The scheduler first has to know that no cancel is on its way.
    private static let timerLatenessMilliseconds = 2000
    private var lastTimerDue = Instant(nanoseconds: 0)
    /// The due times of the scheduled updates, by their numbers.
    private var timerDues: [Int: Instant] = [:]
    /// A process that waits in a call is ahead of the others, and so are the stamps of its records, by less than this. The
    /// clocks of Kafka's nodes differ by less too.
    private static let earlyMilliseconds = 4500
    /// The tokens that a stranger has invented.
    var inventedTokens: Set<String> = []
    private var sendCount = 0
    private var tokenCount = 0
    private var activityCount = 0
    private(set) var pushCount = 0
    private(set) var checkCount = 0
    /// The time at which another token has replaced a token, in milliseconds since 1970.
    private var replacedAt: [String: Int64] = [:]
    /// The longest time in which a push that APNs has refused for a while is tried again: the two waits in the short tier
    /// and one in the long tier, with their answers.
    private static let retryMilliseconds = 180_000

    /// The times in which only this app's pushes had trouble, with the time of their further tries.
    private var troubles: [ClosedRange<Instant>] = []
    private var lastSendAt = Instant(nanoseconds: 0)
    /// A silence after which a sender has closed its connections.
    private static let silenceMilliseconds = 240_000
    private static let connectMilliseconds = 4000

    init(ofApp number: Int, phones count: Int, in world: World) {
        self.world = world
        self.number = number
        let id = "app-\(number)"
        app = App(
            id: id, bundleID: "com.example.\(id)", environments: [.production], teamID: "TEAM00000\(number)",
            keyID: "KEY000000\(number)", types: [])
        for index in 0..<count { addPhone(ofUser: index % 3 == 0 ? nil : "user-\(index / 2)") }
    }

    /// Adds a phone, which reports its start token within some seconds.
    private func addPhone(ofUser user: String?) {
        let index = phones.count
        phones.append(SimulatedPhone(installation: "\(app.id)-phone-\(index)", user: user))
        world.schedule(inMilliseconds: world.random.number(below: 20_000)) { [unowned self] in
            reportStartToken(ofPhone: index)
        }
    }

    /// Notes that only this app's pushes have trouble from now on, for a time.
    func noteTrouble(forMilliseconds milliseconds: Int) {
        let end = world.now.advanced(byMilliseconds: milliseconds + Self.retryMilliseconds)
        troubles.append(world.now...end)
    }

    /// Notes a send. After a silence the first pushes wait for connections. A sender opens one usual connection in a
    /// second, and its apps take turns.
    private func noteSend() {
        if world.now.milliseconds(since: lastSendAt) > Self.silenceMilliseconds {
            troubles.append(world.now...world.now.advanced(byMilliseconds: Self.connectMilliseconds))
        }
        lastSendAt = world.now
    }

    private func due(after time: Instant) -> Instant { world.due(after: time, besides: troubles) }

    // MARK: The gateway's part

    /// Stores a record as a gateway does, and calls `then` when it is accepted. If the leader is away, the caller tries
    /// again.
    ///
    /// - Parameter partition: the partition, or nil if the key decides.
    func store(
        _ value: [UInt8], key: [UInt8], in topic: TopicName, partition: Int? = nil,
        then accepted: @escaping (Instant) -> Void
    ) {
        let logs = world.cluster.topics[world.layout.name(of: topic)] ?? []
        let log = logs[partition ?? Murmur2.partition(forKey: key.span, partitionCount: logs.count)]
        var record = LogRecord()
        (record.key, record.value) = (key, value)
        guard world.cluster.append(record, to: log) != nil else {
            return world.schedule(inMilliseconds: 500) { [unowned self] in
                store(value, key: key, in: topic, partition: partition, then: accepted)
            }
        }
        accepted(world.now)
    }

    /// Stores a report of a phone. A phone whose user is erased reports nothing more.
    private func store(_ report: Report, ofPhone index: Int, then accepted: @escaping (Instant) -> Void) {
        phones[index].waitingReports += 1
        store(report.encoded(), key: report.key, in: .reports) { [unowned self] time in
            phones[index].waitingReports -= 1
            accepted(time)
        }
    }

    // MARK: The backend

    private func makeSend(_ number: Int, _ event: GroupTruth.Event, to group: String) -> Send {
        var content = PushContent(PushEvent(rawValue: event.rawValue) ?? .update)
        content.contentState = try? RawJSON(checking: Array("{\"goals\":\(number)}".utf8), with: JSONReader())
        if event == .start {
            content.attributesType = "Match"
            content.attributes = try? RawJSON(checking: Array("{\"home\":\"A\"}".utf8), with: JSONReader())
            content.alert = Alert(title: .plain("Kick-off"))
        }
        return Send(
            id: "s\(number)", app: app.id, group: group, audience: event == .start ? .everyone : .group,
            content: content, priority: .immediate, acceptedAt: world.wallMilliseconds)
    }

    private func send(_ event: GroupTruth.Event, to group: String) {
        sendCount += 1
        let number = sendCount
        let send = makeSend(number, event, to: group)
        world.tell("the backend of \(app.id) sends \(event.rawValue) \(number) to \(group)")
        waitingGroups.insert(group)
        noteSend()
        store(send.encoded(), key: send.scopeKey?.bytes ?? [], in: .sends) { [unowned self] time in
            waitingGroups.remove(group)
            truths[group, default: GroupTruth()].accept(number, event, at: time)
            scheduleCheck(of: group, after: time)
        }
    }

    /// Sends to a group what fits its state: a start, some updates, an END, and sometimes another start before the END.
    func sendNext(by choices: inout SeededGenerator) {
        let group = Self.groups[choices.number(below: Self.groups.count)]
        if waitingGroups.contains(group) { return }
        guard truths[group]?.isOpen == true else { return send(.start, to: group) }
        let events: [GroupTruth.Event] = [.end, .start, .update, .update, .update, .update, .update, .update]
        send(events[choices.number(below: events.count)], to: group)
    }

    /// Schedules an update of the group that has only timed updates, or starts the group. The updates are due one after
    /// the other, so that the backend knows their order.
    func scheduleUpdate(by choices: inout SeededGenerator) {
        let group = Self.timedGroup
        if waitingGroups.contains(group) { return }
        guard truths[group]?.isOpen == true else { return send(.start, to: group) }
        let delay = 6000 + choices.number(below: 10_000)
        let earliest = lastTimerDue.advanced(byMilliseconds: Self.timerPauseMilliseconds)
        guard world.now.advanced(byMilliseconds: delay) > earliest else { return }
        sendCount += 1
        let number = sendCount
        let send = makeSend(number, .update, to: group)
        let command = ScheduleCommand(
            .schedule(Schedule(id: send.id, dueTime: .offset(Int64(delay)), send: send)), app: app.id,
            owner: .group(group), acceptedAt: world.wallMilliseconds)
        world.tell("the backend of \(app.id) schedules update \(number) to \(group) in \(delay) ms")
        waitingGroups.insert(group)
        store(command.encoded(), key: command.key, in: .schedules) { [unowned self] time in
            waitingGroups.remove(group)
            lastTimerDue = time.advanced(byMilliseconds: delay)
            timerDues[number] = lastTimerDue
            let firedAt = lastTimerDue.advanced(byMilliseconds: Self.timerLatenessMilliseconds)
            world.schedule(at: firedAt) { [unowned self] in
                // A timer whose group has ended changes nothing.
                guard truths[group]?.isOpen == true else { return }
                truths[group]?.accept(number, .update, at: world.now)
                scheduleCheck(of: group, after: world.now)
            }
        }
    }

    /// Ends every group that is open. Without this, the system would end the activities after eight hours.
    func endAll() { endAll(Self.groups + [Self.timedGroup]) }

    private func endAll(_ groups: [String]) {
        for group in groups where truths[group]?.isOpen == true {
            if waitingGroups.contains(group) {
                world.schedule(inMilliseconds: 1000) { [unowned self] in endAll([group]) }
            } else {
                send(.end, to: group)
            }
        }
    }

    // MARK: Erasures

    /// Erases a user, as the gateway does for a backend. The people of the user's phones delete the app, and a phone of
    /// another user comes.
    func eraseUser(by choices: inout SeededGenerator) {
        let index = choices.number(below: phones.count)
        guard let user = phones[index].user, !phones[index].isErased else { return }
        let erased = phones.indices.filter { phones[$0].user == user }
        // A report that is accepted after the erasure would be a new log-in.
        if erased.contains(where: { phones[$0].waitingReports > 0 }) { return }
        world.tell("the backend of \(app.id) erases \(user)")
        for index in erased { phones[index].isErased = true }
        let report = Report(app: app.id, erasing: user)
        let erasure = RecipientErasure(app: app.id, recipient: .user(user))
        let command = ScheduleCommand(
            .erase, app: app.id, owner: .recipient(.user(user)), acceptedAt: world.wallMilliseconds)
        let lanes = world.layout.partitionCount(of: .schedules)
        // The answer leaves when all records are stored.
        var remaining = 2 + lanes
        let accepted: (Instant) -> Void = { [unowned self] time in
            remaining -= 1
            if remaining > 0 { return }
            for index in erased { phones[index].erasedAt = time }
            addPhone(ofUser: "user-\(phones.count)-later")
        }
        store(report.encoded(), key: report.key, in: .reports, then: accepted)
        store(erasure.encoded(), key: erasure.key, in: .superseded, then: accepted)
        for lane in 0..<lanes {
            store(command.encoded(), key: command.key, in: .schedules, partition: lane, then: accepted)
        }
    }

    /// No push leaves for a user who was erased.
    private func checkErasure(of phone: SimulatedPhone) {
        guard let erasedAt = phone.erasedAt, world.now > due(after: erasedAt) else { return }
        world.violation =
            world.violation ?? Violation(.erasure, "a push to \(phone.installation), whose user was erased")
    }

    // MARK: The phones' reports

    private func makeToken(of phone: Int) -> String {
        tokenCount += 1
        var generator = SeededGenerator(seed: world.seed &+ UInt64(number) << 40 &+ UInt64(tokenCount))
        let token = String(decoding: Hex.encode(generator.bytes(count: 32...32)), as: UTF8.self)
        phoneOfToken[token] = phone
        return token
    }

    private func report(_ phone: Int, _ kind: Report.Kind, _ change: (inout Report) -> Void) -> Report {
        var report = Report(
            app: app.id, environment: .production, installation: phones[phone].installation, kind: kind)
        (report.os, report.appBuild) = ("18.2", "412")
        report.user = phones[phone].user
        change(&report)
        return report
    }

    private func reportStartToken(ofPhone index: Int) {
        if phones[index].isErased { return }
        let token = makeToken(of: index)
        phones[index].startToken = token
        let report = report(index, .startToken) {
            $0.attributesType = "Match"
            $0.token = token
            $0.frequentPushesEnabled = true
        }
        store(report, ofPhone: index) { [unowned self] time in
            if phones[index].startTokenAt == nil { phones[index].startTokenAt = time }
        }
    }

    /// The app gets a token for an activity, or another one, and reports it.
    private func reportUpdateToken(ofPhone index: Int, activity number: Int) {
        let activity = phones[index].activities[number]
        if phones[index].isErased || activity.hasEnded || activity.isDismissed { return }
        let token = makeToken(of: index)
        if let old = activity.token { replacedAt[old] = world.wallMilliseconds }
        phones[index].activities[number].token = token
        let report = report(index, .updateToken) {
            $0.attributesType = "Match"
            ($0.activity, $0.group, $0.token) = (activity.id, activity.group, token)
        }
        store(report, ofPhone: index) { [unowned self] time in
            let due = self.due(after: time)
            if phones[index].activities[number].reportedAt == nil {
                phones[index].activities[number].reportedAt = time
            }
            phones[index].activities[number].knownAt = due
            scheduleCheck(of: activity.group, after: time)
        }
    }

    func rotateToken(by choices: inout SeededGenerator) {
        let index = choices.number(below: phones.count)
        guard !phones[index].isErased,
            let number = phones[index].activities.lastIndex(where: { $0.token != nil && !$0.hasEnded })
        else { return }
        world.tell(
            "\(phones[index].installation) gets another token for \(phones[index].activities[number].id)")
        reportUpdateToken(ofPhone: index, activity: number)
    }

    func dismiss(by choices: inout SeededGenerator) {
        let index = choices.number(below: phones.count)
        guard !phones[index].isErased,
            let number = phones[index].activities.lastIndex(where: { !$0.hasEnded && !$0.isDismissed })
        else { return }
        let activity = phones[index].activities[number]
        world.tell("\(phones[index].installation) dismisses \(activity.id)")
        phones[index].activities[number].isDismissed = true
        phones[index].activities[number].closedAt = world.wallMilliseconds
        let report = report(index, .state) {
            ($0.activity, $0.group, $0.state) = (activity.id, activity.group, .dismissed)
        }
        store(report, ofPhone: index) { [unowned self] time in
            phones[index].dismissedAt[activity.group] = time
        }
    }

    // MARK: APNs

    /// Returns the phone and the activity of a token. The activity is nil for a start token, and for one that another
    /// token has replaced.
    private func owner(of token: String) -> (phone: Int, activity: Int?)? {
        phoneOfToken[token].map { index in
            (index, phones[index].activities.firstIndex { $0.token == token })
        }
    }

    func status(of token: PushToken) -> TokenStatus {
        let token = Hex.text(of: token.bytes)
        guard let (index, number) = owner(of: token) else { return .unknown }
        checkErasure(of: phones[index])
        if let replacedAt = replacedAt[token] { return .expired(since: replacedAt) }
        guard let number else { return .valid }
        let activity = phones[index].activities[number]
        return activity.hasEnded || activity.isDismissed ? .unregistered(since: activity.closedAt) : .valid
    }

    func deliver(_ push: ReceivedPush, to token: PushToken) {
        do {
            try receive(push, token: Hex.text(of: token.bytes))
        } catch {
            world.violation = world.violation ?? error as? Violation
        }
    }

    /// Notes that APNs refuses a push for a while, or does not answer it. It is tried again later, or never if it is a
    /// start that may have arrived.
    func noteTrouble(ofToken token: PushToken) {
        guard let (index, number) = owner(of: Hex.text(of: token.bytes)) else { return }
        guard let number else {
            phones[index].startTroubledAt = world.now
            return
        }
        let until = world.now.advanced(byMilliseconds: Self.retryMilliseconds)
        phones[index].activities[number].troubledUntil = until
        let (group, time) = (phones[index].activities[number].group, world.now)
        world.schedule(at: until.advanced(byMilliseconds: 1)) { [unowned self] in
            scheduleCheck(of: group, after: time)
        }
    }

    private func receive(_ push: ReceivedPush, token: String) throws {
        if inventedTokens.contains(token) { return }
        pushCount += 1
        guard let index = phoneOfToken[token] else {
            throw Violation(.token, "a push to an unknown token")
        }
        if let due = push.state.flatMap({ timerDues[$0] }),
            world.now.milliseconds(since: due) < -Self.earlyMilliseconds
        {
            throw Violation(
                .early,
                "the scheduled update \(push.state ?? 0) left \(due.milliseconds(since: world.now)) ms too early"
            )
        }
        if phones[index].isErased { return }
        if push.event == "start" { return try receiveStart(push, onPhone: index, token: token) }
        guard let number = phones[index].activities.firstIndex(where: { $0.token == token }) else { return }
        var activity = phones[index].activities[number]
        if activity.hasEnded || activity.isDismissed || push.timestamp <= activity.timestamp { return }
        activity.timestamp = push.timestamp
        if let state = push.state { activity.state = state }
        if push.event == "end" {
            activity.hasEnded = true
            activity.closedAt = world.wallMilliseconds
        }
        phones[index].activities[number] = activity
    }

    private func receiveStart(_ push: ReceivedPush, onPhone index: Int, token: String) throws {
        guard phones[index].startToken == token else { return }
        guard let state = push.state, let (group, generation) = groupAndGeneration(ofState: state) else {
            throw Violation(.token, "a start with a state of no send")
        }
        let name = "\(group) of generation \(generation)"
        phones[index].startCounts[name, default: 0] += 1
        if phones[index].startCounts[name] != 1 {
            throw Violation(.oneStart, "\(phones[index].installation) is started twice in \(name)")
        }
        activityCount += 1
        phones[index].activities.append(
            .init(
                id: "\(app.id)-activity-\(activityCount)", group: group, generation: generation, state: state,
                timestamp: push.timestamp))
        let number = phones[index].activities.count - 1
        world.schedule(inMilliseconds: 50 + world.random.number(below: 500)) { [unowned self] in
            reportUpdateToken(ofPhone: index, activity: number)
        }
    }

    /// Returns the group and the generation of a send. The numbers of sends are unique among all groups.
    private func groupAndGeneration(ofState state: Int) -> (group: String, generation: Int)? {
        for (group, truth) in truths {
            if let generation = truth.generation(ofState: state) { return (group, generation) }
        }
        return nil
    }

    // MARK: The laws

    /// Checks the screens of a group when everything that was accepted until a time must have reached them.
    private func scheduleCheck(of group: String, after time: Instant) {
        let due = self.due(after: time)
        world.schedule(at: due) { [unowned self] in
            // A fault in between gives the fleet more time.
            if self.due(after: time) > world.now { return scheduleCheck(of: group, after: time) }
            try check(group, until: time)
        }
    }

    private func check(_ group: String, until time: Instant) throws {
        checkCount += 1
        guard let truth = truths[group] else { return }
        for phone in phones where !phone.isErased {
            try checkStart(of: phone, in: group, truth: truth, until: time)
            for activity in phone.activities where activity.group == group {
                try check(activity, on: phone, truth: truth, until: time)
            }
        }
    }

    /// An activity shows the newest state of its generation, and it ends with its generation.
    private func check(
        _ activity: SimulatedPhone.Activity, on phone: SimulatedPhone, truth: GroupTruth, until time: Instant
    ) throws {
        if activity.isDismissed || activity.troubledUntil >= world.now { return }
        guard let reportedAt = activity.reportedAt, reportedAt <= time,
            let newest = truth.newest(inGeneration: activity.generation, until: time)
        else { return }
        let name = "\(activity.id) in \(activity.group) on \(phone.installation)"
        if newest.event == .end, !activity.hasEnded, !hasJoinedNextGeneration(activity, after: newest) {
            throw Violation(
                .noLostEnd, "\(name) shows \(activity.state) and did not get its END \(newest.number)")
        }
        if newest.event != .end, !activity.hasEnded, activity.state < newest.number {
            throw Violation(.newestState, "\(name) shows \(activity.state) and not \(newest.number)")
        }
        if activity.hasEnded, truth.isOpen, truth.newest?.generation == activity.generation {
            throw Violation(.newestState, "\(name) has ended, but its group has not")
        }
    }

    /// Whether an activity lives on in the group's next generation. That is right only if the fleet did not surely know
    /// its token at the END: then the late token meets a group that has begun again.
    private func hasJoinedNextGeneration(
        _ activity: SimulatedPhone.Activity, after end: GroupTruth.AcceptedSend
    ) -> Bool {
        guard activity.state > end.number, let knownAt = activity.knownAt else { return false }
        return knownAt > end.acceptedAt
    }

    /// A phone whose start token was known before a start shows the activity, unless the generation has ended or the
    /// person has dismissed an activity of the group since the start.
    private func checkStart(
        of phone: SimulatedPhone, in group: String, truth: GroupTruth, until time: Instant
    ) throws {
        guard let newest = truth.sends.last(where: { $0.acceptedAt <= time }),
            let generation = truth.generation(ofState: newest.number),
            let start = truth.start(ofGeneration: generation)
        else { return }
        let isOver =
            truth.hasEnded(generation: generation) || phone.hasDismissed(group, since: start.acceptedAt)
        let wasTokenKnown = phone.startTokenAt.map { due(after: $0) <= start.acceptedAt } ?? false
        if isOver || !wasTokenKnown || mayBeUnknown(start, on: phone) { return }
        if phone.startCounts["\(group) of generation \(generation)"] == nil {
            throw Violation(
                .start, "\(phone.installation) did not get the start \(generation) of \(group)")
        }
    }

    /// Whether the outcome of a start on a phone can be unknown. Such a start is not sent again.
    private func mayBeUnknown(_ start: GroupTruth.AcceptedSend, on phone: SimulatedPhone) -> Bool {
        let troubles = world.uncertainStarts + (phone.startTroubledAt.map { [$0] } ?? [])
        return troubles.contains { $0 >= start.acceptedAt }
    }
}
