import FanOut
import Foundation
import JSON
import LiveActivity
import ProcessTesting
import Registry
import Simulation
import Store
import Testing

/// A life of phones, a planner and lanes in which anything happens in any order: sends and cancels, late tokens,
/// crashes, lanes that move, pages of any size. What must be true is counted beside it, without versions.
final class FleetHistory {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    private let lanes = 2
    private let planner: Planner
    private var random: SeededGenerator
    private let directory: TemporaryDirectory
    private var rows = Rows()
    private var topics: [VirtualLane]
    private var owners: [LaneOwner?]
    private var phones: [Phone]
    private var held: [Plan.Held] = []
    /// Jobs that wait for their sender, in any order.
    private var waiting: [Job] = []
    private var sent: [Send] = []
    private var account = Account()
    private var now: Int64 = 0
    private var tokens = 0
    private var activities = 0
    private var sends = 0
    private(set) var steps = 0
    /// What lanes have asked, in its order.
    private var enquiries: [Enquiry] = []
    /// When they are answered, beside all else that happens.
    private var patience: SeededGenerator
    /// Some phones do not tell the group of what they started: then there is one group only that can be started.
    private let isSilent: Bool
    /// Of each life of a scope and installation: how many starts it got.
    private var starts: [String: Int] = [:]
    /// Of each token: the version of the end that it was brought.
    private var ends: [String: Int64] = [:]
    private var closed: [String: Int] = [:]
    private var expected: [String: Int] = [:]

    init(seed: UInt64) throws {
        random = SeededGenerator(seed)
        patience = SeededGenerator(seed &+ 1)
        isSilent = random.below(2) == 0
        directory = try TemporaryDirectory()
        let lanes = lanes
        planner = Planner(lanes: lanes) { _, recipient in recipient.text.utf8.count % lanes }
        topics = Array(repeating: VirtualLane(), count: lanes)
        owners = Array(repeating: nil, count: lanes)
        phones = []
        for (user, phone) in [("a", "p1"), ("a", "p2"), ("bb", "p3"), ("cc", "p4"), ("ddd", "p5")] {
            phones.append(Phone(user: user, installation: phone))
        }
    }

    private var stamp: Int64 { (dawn + now) * 1000 }
    private func lane(of user: String) -> Int { (user.utf8.count + 2) % lanes }
    private func chance(_ percent: Int) -> Bool { random.below(100) < percent }

    // MARK: Living

    func live(steps count: Int) throws {
        for index in phones.indices where chance(80) { reportStart(index) }
        for _ in 0..<count { try step() }
        try settle()
        try check()
        try beginAnew()
        for owner in owners { try owner?.close() }
    }

    private func step() throws {
        steps += 1
        if patience.below(100) < 30 { try answer() }
        switch random.below(100) {
        case 0..<18: try send()
        case 18..<22: try cancel()
        case 22..<62: try turn(random.below(lanes))
        case 62..<74: try deliver()
        case 74..<90: report()
        case 90..<96: try goOn(Int64(random.below(4)))
        default: try move(random.below(lanes))
        }
    }

    private func goOn(_ seconds: Int64) throws {
        now += seconds
        let due = held.filter { $0.at <= dawn + now }
        held.removeAll { $0.at <= dawn + now }
        for one in due {
            try take(try planner.release(one.key, now: dawn + now, in: &rows))
        }
    }

    /// The lane's owner ends, or is another one from now on.
    private func move(_ lane: Int) throws {
        try owners[lane]?.close()
        owners[lane] = nil
        if chance(30) { try FileManager.default.removeItem(atPath: path(lane, random.below(2))) }
    }

    private func path(_ lane: Int, _ process: Int) -> String {
        let path = "\(directory.path)/lane-\(lane)-\(process)"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    // MARK: Sends

    private func send() throws {
        now += Int64(random.below(2))
        sends += 1
        let event: PushEvent = [.start, .start, .update, .update, .update, .update, .end][random.below(7)]
        let group = ["match", "match", "solo", isSilent ? "match" : "chest"][random.below(4)]
        if group == "solo", event == .start { return }
        let users = Array(Set(phones.map(\.user))).sorted()
        let some = Array(users.shuffled(using: &random).prefix(1 + random.below(2)))
        var audience: Audience = event == .start ? .everyone : .group
        if chance(35) { audience = .users(some) }
        if group == "chest" { audience = .users([some[0]]) }
        var send = makeSend(event, to: audience, group: group, id: "s\(sends)", state: sends)
        send.acceptedAt = stamp
        if group == "chest" { send.owner = .user(some[0]) }
        if event == .update, chance(15) { send.conflate = false }
        sent.append(send)
        try take(try planner.plan(.send(send), stamp: stamp, app: shop, in: &rows))
    }

    private func cancel() throws {
        guard let send = sent.randomElement(using: &random), let key = send.groupKey else { return }
        let cancel = Cancel(
            send: send.id, app: send.app, key: key, recipient: chance(80) ? send.onlyUser : nil,
            acceptedAt: stamp)
        let plan = try planner.plan(.cancel(cancel), stamp: stamp, app: shop, in: &rows)
        if plan.stop != nil { account.takeBack(send) }
        try take(plan)
    }

    /// One lane's enquiry, which comes behind whatever was planned before.
    private func answer() throws {
        if enquiries.isEmpty { return }
        let enquiry = enquiries.removeFirst()
        for part in try planner.plan(.enquiry(enquiry), stamp: stamp, app: nil, in: &rows).parts {
            guard let lane = part.lane, part.expansion.isAnswer, !part.isUrgent else {
                throw Wrong(description: "an enquiry of lane \(enquiry.lane) was answered with a send")
            }
            topics[lane].usual.append(part.expansion.encoded())
        }
    }

    private func take(_ plan: Plan) throws {
        if let one = plan.held { held.append(one) }
        if let stop = plan.stop {
            let bytes = Stop(send: stop.send, key: stop.key).encoded()
            for lane in topics.indices { topics[lane].urgent.append(bytes) }
        }
        for part in plan.parts {
            let bytes = part.expansion.encoded()
            for lane in topics.indices where part.lane ?? lane == lane {
                if part.isUrgent {
                    topics[lane].urgent.append(bytes)
                } else {
                    topics[lane].usual.append(bytes)
                }
                expected["\(part.expansion.send)/\(lane)", default: 0] += 1
            }
        }
        if plan.parts.isEmpty { return }
        account.note(startsIn: plan)
        account.take(plan, users: Set(phones.map(\.user)))
    }

    // MARK: Lanes

    private func owner(of lane: Int) throws -> LaneOwner {
        if let owner = owners[lane] { return owner }
        let owner = try LaneOwner(lane, path(lane, random.below(2)), topics[lane])
        owners[lane] = owner
        return owner
    }

    private func turn(_ lane: Int, isCalm: Bool = false) throws {
        let owner = try owner(of: lane)
        let topic = topics[lane]
        let plan = LaneOwner.Plan(
            registryUpTo: isCalm
                ? topic.registry.count
                : topic.committed.registry
                    + random.below(topic.registry.count - topic.committed.registry + 1),
            isUrgent: chance(50), expansions: random.below(4), rowsMax: 1 + random.below(4))
        let outcome = try owner.run(plan, on: topic, now: stamp)
        if !isCalm, chance(20) {
            // The transaction does not happen; whoever owns the lane next begins at the committed offsets.
            try owner.close()
            owners[lane] = nil
            return
        }
        let before = LaneRows(replaying: topics[lane].starts)
        topics[lane].committed = outcome.committed
        topics[lane].starts += outcome.starts
        topics[lane].urgent += outcome.urgent
        topics[lane].usual += outcome.usual
        for progress in outcome.progress { closed["\(progress.send)/\(lane)", default: 0] += 1 }
        for job in outcome.jobs { try look(at: job, after: before) }
        waiting += outcome.jobs
        enquiries += outcome.enquiries
    }

    /// What must be true of jobs in the order in which a lane writes them.
    ///
    /// - Parameter rows: the lane's, before the transaction.
    private func look(at job: Job, after rows: LaneRows) throws {
        let push = Push(job.body)
        if push.event == .end ? push.timestamp < job.head.version : push.timestamp != job.head.version {
            throw Wrong(description: "a body of \(push.timestamp) with a head of \(job.head.version)")
        }
        switch push.event {
        case .start:
            let life = "\(job.head.group ?? "")/\(job.recipient)/\(job.head.generation)/\(job.installation)"
            starts[life, default: 0] += 1
            if starts[life] != 1 { throw Wrong(description: "a second start in life \(life)") }
            let key = GroupKey(
                app: "shop", group: job.head.group ?? "", recipient: Recipient(text: job.recipient))
            if let states = account.statesWhenStarted(job.head, job.recipient), !states.contains(push.state) {
                throw Wrong(
                    description: "\(life) was started with \(push.state ?? "-"), older than \(states)")
            }
            if let end = try rows.scope(key.bytes)?.endedAt, end > job.head.generation {
                throw Wrong(description: "a start of life \(job.head.generation) after the end of \(end)")
            }
        case .end: ends[job.token] = max(ends[job.token] ?? 0, job.head.version)
        case .update:
            if let end = ends[job.token], job.head.generation < end {
                throw Wrong(description: "an update of \(push.timestamp) after the end of \(end)")
            }
        }
    }

    // MARK: Phones

    private func deliver() throws {
        waiting.shuffle(using: &random)
        for _ in 0..<min(waiting.count, 1 + random.below(8)) {
            if let job = waiting.popLast() { try deliver(job) }
        }
    }

    private func deliver(_ job: Job) throws {
        guard let index = phones.firstIndex(where: { $0.installation == job.installation }) else {
            throw Wrong(description: "a job for nobody")
        }
        let push = Push(job.body)
        if job.recipient != "u:" + phones[index].user { throw Wrong(description: "another's job") }
        if push.event == .start {
            activities += 1
            phones[index].activities.append(
                Activity(
                    id: "act\(activities)", group: job.head.group ?? "",
                    tellsGroup: !isSilent || chance(50), state: push.state,
                    version: push.timestamp))
            return
        }
        guard
            let place = phones[index].activities.firstIndex(where: { "update:" + $0.id == job.entry })
        else { throw Wrong(description: "a job for no activity") }
        var activity = phones[index].activities[place]
        if let seen = activity.seen[push.timestamp], push.event == .update, seen != push.state {
            throw Wrong(description: "two states under version \(push.timestamp)")
        }
        if push.event == .update { activity.seen[push.timestamp] = push.state }
        guard !activity.hasEnded, push.timestamp >= activity.version else { return }
        activity.version = push.timestamp
        if push.event == .end { activity.hasEnded = true } else { activity.state = push.state }
        phones[index].activities[place] = activity
    }

    private func report() {
        let index = random.below(phones.count)
        if phones[index].startToken == nil || chance(5) { return reportStart(index) }
        if chance(4) {
            // The app starts one by itself.
            activities += 1
            phones[index].activities.append(
                Activity(id: "act\(activities)", group: "solo", tellsGroup: true, state: nil, version: 0))
        }
        guard let place = phones[index].activities.indices.randomElement(using: &random) else { return }
        if phones[index].activities[place].hasEnded {
            guard phones[index].activities[place].token != nil, chance(50) else { return }
            phones[index].activities[place].token = nil
            write(phones[index], .update(activity: phones[index].activities[place].id), nil)
        } else if phones[index].activities[place].token == nil || chance(20) {
            reportUpdate(index, place)
        }
    }

    private func reportStart(_ index: Int) {
        tokens += 1
        phones[index].startToken = tokens
        write(phones[index], .start(type: "Match"), tokenRow())
    }

    private func reportUpdate(_ index: Int, _ place: Int) {
        tokens += 1
        phones[index].activities[place].token = tokens
        let activity = phones[index].activities[place]
        var row = tokenRow()
        if activity.tellsGroup { row.group = activity.group }
        write(phones[index], .update(activity: activity.id), row)
    }

    private func tokenRow() -> TokenRow {
        let digits = String(tokens, radix: 16)
        let hash = String(repeating: "0", count: 32 - digits.count) + digits
        return TokenRow(
            environment: .production, token: hash, tokenHash: hash, attributesType: "Match",
            registeredAt: stamp)
    }

    private func write(_ phone: Phone, _ entry: RegistryKey.Entry, _ row: TokenRow?) {
        let key = RegistryKey(
            app: "shop", recipient: .user(phone.user), installation: phone.installation, entry: entry)
        topics[lane(of: phone.user)].registry.append(
            VirtualLane.Record(key: key.bytes, value: row?.encoded()))
    }

    // MARK: The end

    /// Nothing fails any more, and everybody says what they have to say.
    private func settle() throws {
        for round in 0..<400 {
            try goOn(5)
            for lane in topics.indices { try turn(lane, isCalm: true) }
            while !enquiries.isEmpty { try answer() }
            while let job = waiting.popLast() { try deliver(job) }
            var isQuiet = held.isEmpty && topics.allSatisfy(\.isDone)
            for index in phones.indices {
                for place in phones[index].activities.indices
                where !phones[index].activities[place].hasEnded
                    && phones[index].activities[place].token == nil
                {
                    reportUpdate(index, place)
                    isQuiet = false
                }
            }
            if isQuiet { return }
            if round == 399 { throw Wrong(description: "it never ends") }
        }
    }

    /// Whatever was before: an end, and after days in which its planner has forgotten the group a new start, which
    /// reaches everybody, once.
    private func beginAnew() throws {
        now += 60
        sends += 1
        let end = makeSend(.end, id: "s\(sends)", state: sends)
        try take(try planner.plan(.send(end), stamp: stamp, app: shop, in: &rows))
        try settle()
        if chance(50) {
            now += 4 * 86_400
            rows = Rows()
        }
        now += 1
        var start = makeSend(.start, to: .everyone, id: "s\(sends + 1)", state: sends + 1)
        start.acceptedAt = stamp
        let plan = try planner.plan(.send(start), stamp: stamp, app: shop, in: &rows)
        try take(plan)
        try settle()
        guard let life = plan.parts.first?.expansion.generation else { throw Wrong(description: "no start") }
        for phone in phones where phone.startToken != nil {
            let count = starts["match/u:\(phone.user)/\(life)/\(phone.installation)"] ?? 0
            if count != 1 {
                throw Wrong(description: "\(count) starts of \(phone.installation) in a new life")
            }
        }
        try check()
    }

    private func check() throws {
        if closed != expected {
            throw Wrong(description: "closing records \(closed) where \(expected) expansions were")
        }
        for phone in phones {
            for activity in phone.activities {
                guard let truth = account.truth(activity.group, phone.user) else { continue }
                if activity.hasEnded { continue }
                let name = "\(activity.id) of \(phone.user) in \(activity.group)"
                if truth.hasEnded { throw Wrong(description: "\(name) was never ended") }
                let states = account.states(of: truth)
                if !states.contains(activity.state) {
                    throw Wrong(
                        description:
                            "\(name) shows \(activity.state ?? "-") of \(activity.version), not \(states)")
                }
            }
        }
    }
}

/// A second account of what phones must show: it knows in which order sends were planned, and no versions.
private struct Account {
    struct Truth {
        /// Sends and their states, the newest last.
        var said: [(send: String, state: String?)] = []
        var hasEnded = false
        var ends = 0
        var isKnown = false

        mutating func say(_ state: String?, _ send: String) {
            said.append((send, state))
            isKnown = true
        }

        /// What a start may say that came behind the first so many.
        func states(since count: Int, without cancelled: Set<String>) -> Set<String?> {
            let newest = said.prefix(count).lastIndex { !cancelled.contains($0.send) } ?? 0
            return Set(said[newest...].map(\.state))
        }

        /// What is right to show: of what was taken back, phones may show it already, or what was before. A lane keeps
        /// one state behind the newest: where two were taken back, who comes late may be told nothing.
        func states(without cancelled: Set<String>) -> Set<String?> {
            var states: Set<String?> = []
            for (send, state) in said.reversed() {
                if states.count > 1 { states.insert(nil) }
                states.insert(state)
                if !cancelled.contains(send) { return states }
            }
            return states.union([nil])
        }
    }

    private var cancelled: Set<String> = []
    private var truths: [String: Truth] = [:]
    private var isOpen: [String: Bool] = [:]
    /// Lives of single recipients that a start has opened.
    private var ownLives: Set<String> = []

    /// Of each start of one user alone: how much its user had been told when it was planned.
    private var saidBefore: [String: (count: Int, ends: Int)] = [:]

    mutating func note(startsIn plan: Plan) {
        for progress in plan.progress {
            guard case .verdict(let part) = progress.part, let recipient = part.recipient?.text,
                plan.parts.contains(where: {
                    $0.expansion.send == progress.send && $0.expansion.content.event == .start
                }),
                let truth = truths["\(progress.key.group ?? "")/\(recipient.dropFirst(2))"]
            else { continue }
            saidBefore["\(progress.send)/\(recipient)"] = (truth.said.count, truth.ends)
        }
    }

    /// Nil where nothing was said before, where the start was for others as well, and where its user was ended since:
    /// then it may say what others were told after that, and its end follows.
    func statesWhenStarted(_ head: SheetHead, _ recipient: String) -> Set<String?>? {
        guard let before = saidBefore["\(head.send)/\(recipient)"], before.count > 0,
            let truth = truths["\(head.group ?? "")/\(recipient.dropFirst(2))"], truth.ends == before.ends
        else { return nil }
        return truth.states(since: before.count, without: cancelled)
    }

    func truth(_ group: String, _ user: String) -> Truth? {
        guard let truth = truths["\(group)/\(user)"], truth.isKnown else { return nil }
        return truth
    }

    /// A plan can have several sends: one that was held goes before the one that came.
    mutating func take(_ plan: Plan, users: Set<String>) {
        var sends: [String] = []
        for part in plan.parts where !sends.contains(part.expansion.send) {
            sends.append(part.expansion.send)
        }
        for send in sends { take(plan.parts.filter { $0.expansion.send == send }, users: users) }
    }

    private mutating func take(_ parts: [Plan.Part], users: Set<String>) {
        let send = parts[0].expansion
        guard let group = send.key.group else { return }
        let recipients = parts.flatMap { part -> [Expansion.ScopedRecipient] in
            if case .recipients(let list) = part.expansion.targets { list } else { [] }
        }
        let named = recipients.map { String($0.recipient.text.dropFirst(2)) }
        let content = send.content
        let state = content.contentState.flatMap { raw in
            (try? JSONSerialization.jsonObject(with: Data(raw.bytes)) as? [String: Any])?["goals"].map {
                "\($0)"
            }
        }
        let isPrivate = send.key.recipient != nil
        let isWhole = !isPrivate && recipients.isEmpty
        let scope = isPrivate ? "\(group)/\(named[0])" : group
        switch content.event {
        case .start:
            let opens = isOpen[scope] != true
            isOpen[scope] = true
            if opens {
                for user in isPrivate ? named : Array(users) {
                    change(group, user) {
                        $0.hasEnded = false
                        $0.say(state, send.send)
                    }
                }
            }
            if !isPrivate {
                for one in recipients where one.scope == .recipient && one.version == one.generation {
                    // Another start of the same life joins it: what was said to the recipient since stands.
                    let life = "\(group)/\(one.recipient.text)/\(one.generation)"
                    guard ownLives.insert(life).inserted else { continue }
                    change(group, String(one.recipient.text.dropFirst(2))) {
                        $0.hasEnded = false
                        $0.say(state, send.send)
                    }
                }
            }
        case .update:
            for user in isWhole ? Array(users) : named {
                change(group, user) { if !$0.hasEnded { $0.say(state, send.send) } }
            }
        case .end:
            if isWhole || isPrivate { isOpen[scope] = false }
            for user in isWhole ? Array(users) : named {
                change(group, user) {
                    $0.hasEnded = true
                    $0.ends += 1
                    $0.isKnown = true
                }
            }
        }
    }

    mutating func takeBack(_ send: Send) { cancelled.insert(send.id) }

    func states(of truth: Truth) -> Set<String?> { truth.states(without: cancelled) }

    private mutating func change(_ group: String, _ user: String, _ body: (inout Truth) -> Void) {
        body(&truths["\(group)/\(user)", default: Truth()])
    }
}

extension Send {
    /// Whom it is for, where that is one user of a group that is others', too.
    fileprivate var onlyUser: Recipient? {
        guard owner == nil, case .users(let users) = audience, users.count == 1 else { return nil }
        return .user(users[0])
    }
}
