import Testing

@testable import Broker

/// Random lives of transactional ids: producers that work, come again, fence one another and fall
/// silent, a log and markers that are slow or fail, a broker that dies at any append. Checked against
/// what the log says, record by record.
struct TransactionSimulationTests {
    @Test(arguments: 0..<8)
    func `a decision is never reversed, a marker never missing, a fenced producer never heard`(batch: Int) {
        for seed in Simulations.seeds(of: batch) {
            var simulation = TransactionSimulation(seed: seed)
            if let fault = simulation.run(steps: 80) {
                Issue.record("seed \(seed): \(fault)")
                return
            }
        }
    }
}

struct TransactionSimulation {
    /// A running producer, which may have been fenced without knowing it.
    private struct Client {
        var producer: Producer
        var added: Set<TopicPartition> = []
        var adding: (token: ReplyToken, partition: TopicPartition)?
        var ending: (token: ReplyToken, commits: Bool)?
        var isOpen = false
        /// Its decision, until the answer arrives. It may only repeat the same decision.
        var decided: Bool?
    }

    private struct Owner: Hashable {
        let id: Int64
        let epoch: Int16
    }

    private var dice: Dice
    private let driver: TransactionDriver
    private let names = ["x", "y"]
    private var clients: [Client] = []
    private var initialising: [(token: ReplyToken, name: String)] = []
    private var owners: Set<Owner> = []
    /// The newest producer that each name was given to.
    private var newest: [String: Producer] = [:]
    private var read = 0
    private var states: [String: TransactionFacts] = [:]
    private var decisions: [String: TransactionFacts] = [:]
    /// The marked partitions of each prepared transaction, by transactional id.
    private var marked: [String: Set<TopicPartition>] = [:]

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        var settings = TransactionSettings()
        settings.producerIDBlock = 2
        driver = TransactionDriver(settings)
        driver.storesAtOnce = dice.chance(40)
        driver.marksAtOnce = dice.chance(50)
    }

    mutating func run(steps: Int) -> String? {
        for step in 0..<steps {
            act()
            if let fault = inspect() ?? hear() { return "step \(step): \(fault)" }
        }
        return settle()
    }

    private mutating func act() {
        switch dice.below(100) {
        case 0..<12:
            let name = names[dice.below(2)]
            initialising.append((driver.send(Producer.initialise(name)), name))
        case 12..<55: work()
        case 55..<75: driver.storeNext()
        case 75..<80: driver.failNext()
        case 80..<88: driver.markNext()
        case 88..<90: driver.failMarkers()
        case 90..<96: driver.pass(milliseconds: Int64(dice.below(6_000)))
        default: restart()
        }
    }

    private mutating func restart() {
        // Appends under way may have been written although no answer left.
        if dice.chance(50) { driver.markSilently() }
        driver.restart(keeping: dice.below(3))
        initialising = []
        for index in clients.indices {
            clients[index].adding = nil
            clients[index].ending = nil
        }
    }

    private mutating func work() {
        guard !clients.isEmpty else { return }
        let index = dice.below(clients.count)
        guard clients[index].adding == nil, clients[index].ending == nil else { return }
        if clients[index].decided != nil || (clients[index].isOpen && dice.chance(40)) {
            let commits = clients[index].decided ?? dice.chance(60)
            clients[index].decided = commits
            clients[index].ending = (driver.send(clients[index].producer.end(commits: commits)), commits)
        } else {
            let partition = TopicPartition(topic: "t", partition: Int32(dice.below(3)))
            let request = clients[index].producer.add(partition.topic, partition.partition)
            clients[index].adding = (driver.send(request), partition)
        }
    }

    /// Takes in the answers that came.
    private mutating func hear() -> String? {
        for waiting in initialising {
            guard let answer = driver.take(waiting.token) else { continue }
            initialising.removeAll { $0.token == waiting.token }
            guard var producer = answer.producer else { continue }
            producer.name = waiting.name
            guard owners.insert(Owner(id: producer.id, epoch: producer.epoch)).inserted else {
                return "\(producer) was given twice"
            }
            newest[waiting.name] = producer
            clients.append(Client(producer: producer))
        }
        for index in clients.indices {
            if let fault = hearAdding(index) ?? hearEnding(index) { return fault }
        }
        return nil
    }

    private mutating func hearAdding(_ index: Int) -> String? {
        guard let adding = clients[index].adding, let answer = driver.take(adding.token) else { return nil }
        clients[index].adding = nil
        guard answer.error == ErrorCode.none else { return nil }
        clients[index].added.insert(adding.partition)
        clients[index].isOpen = true
        return fencedButHeard(clients[index].producer)
    }

    private mutating func hearEnding(_ index: Int) -> String? {
        guard let ending = clients[index].ending, let answer = driver.take(ending.token) else { return nil }
        clients[index].ending = nil
        guard answer.error == ErrorCode.none else { return nil }
        let client = clients[index]
        clients[index] = Client(producer: client.producer)
        guard let decision = decisions[client.producer.name] else { return "an end without a decision" }
        guard (decision.state == .prepareCommit) == ending.commits else {
            return "the other decision is in the log"
        }
        guard decision.producerID == client.producer.id, decision.epoch == client.producer.epoch else {
            return "\(client.producer) got the end of another producer"
        }
        return decision.partitions.isSuperset(of: client.added)
            ? nil : "a partition is missing from the decision"
    }

    /// A producer that was fenced before the answer must not get a success.
    private func fencedButHeard(_ producer: Producer) -> String? {
        guard let newest = newest[producer.name], newest != producer else { return nil }
        return "\(producer) got a success after \(newest)"
    }

    /// Reads what became durable since the last step.
    private mutating func inspect() -> String? {
        while read < driver.history.count {
            let event = driver.history[read]
            read += 1
            switch event {
            case .markers(let markers):
                if let fault = inspect(markers) { return fault }
            case .record(let record):
                guard let (name, facts) = Simulations.transaction(record) else { continue }
                if let fault = inspect(name, states[name], facts) { return fault }
                states[name] = facts
            }
        }
        return nil
    }

    private mutating func inspect(_ markers: TransactionMarkers) -> String? {
        guard let (name, facts) = states.first(where: { $0.value.producerID == markers.producerID }),
            facts.state.isPrepared
        else { return "markers without a decision: \(markers)" }
        guard facts.epoch == markers.epoch, (facts.state == .prepareCommit) == markers.commits,
            facts.partitions.isSuperset(of: markers.partitions)
        else { return "\(markers) do not carry out \(facts)" }
        marked[name, default: []].formUnion(markers.partitions)
        return nil
    }

    private mutating func inspect(
        _ name: String, _ before: TransactionFacts?, _ after: TransactionFacts
    ) -> String? {
        if let before, before.state.isPrepared {
            // The record of the completion may be missing: then what follows it stands there.
            let completed =
                before.state == .prepareCommit ? TransactionState.completeCommit : .completeAbort
            let follows = after.state == completed || after.state == .ongoing || after.state == .empty
            guard follows else { return "\(before.state) was followed by \(after.state)" }
            guard marked[name] == before.partitions else { return "\(name) went on without its markers" }
        }
        if let before, before.producerID == after.producerID, after.epoch < before.epoch {
            return "the epoch of \(name) went back"
        }
        if after.state.isPrepared {
            guard before?.state == .ongoing else { return "\(name) was decided without being open" }
            decisions[name] = after
            marked[name] = []
        }
        return nil
    }

    /// In the end every decision is carried out and no transaction stays open.
    private mutating func settle() -> String? {
        driver.storesAtOnce = true
        driver.marksAtOnce = true
        for _ in 0..<6 {
            driver.storeNext()
            driver.markNext()
            driver.pass(milliseconds: 11_000)
            if let fault = inspect() ?? hear() { return "at the end: \(fault)" }
        }
        driver.restart(keeping: 0)
        driver.pass(milliseconds: 11_000)
        if let fault = inspect() { return "after the end: \(fault)" }
        for (name, facts) in states where facts.state == .ongoing || facts.state.isPrepared {
            return "\(name) is \(facts.state) in the end"
        }
        return nil
    }
}
