internal import Catalog
internal import CatalogRecords
package import IngestTesting
internal import InstallationRecords
internal import JSON
internal import Kafka
internal import Lifecycle
internal import RecordFormat
internal import Simulation
internal import Topics
package import Webhooks

/// A kill test with two processes of the webhooks stage while taps arrive. The endpoint is a real HTTP server that answers
/// by a seed: soon, late, with 503, with a reset or not at all. At the end it must have accepted every event, and the
/// events of each user in order.
package final class WebhookKillTest: KillTestScenario {
    package struct Plan: KillTestPlan {
        package var events = 2000
        package var users = 40
        package var killsPerStep = 1
        /// All steps but one: a process that dies at its first release would need a third process that joins.
        package var steps = WebhooksStep.allCases.filter { $0 != .partitionsReleased }
        package var randomKills = 2
        package var freezeCount = 1
        package var seed: UInt64 = 1
        package var report: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct Result: Sendable {
        package var killCount = 0
        package var reachedSteps: Set<WebhooksStep> = []
        package var events = 0
        package var calls = 0
        /// The calls, for a check of their signatures by another program.
        package var sample: [ScriptedEndpoint.Call] = []
        package var key: [UInt8] = []
        /// The first fault, or nil.
        package var fault: String?
    }

    /// The events that the stage delivers in a second at least, while some answers of the endpoint are late or missing.
    private static let eventsPerSecondMin = 50

    private let plan: Plan
    private let bed: TestBed
    private let runner: KillTestRunner<Plan>
    private let writer: RecordWriter
    private let endpoint: ScriptedEndpoint
    private let record: WebhookTestEndpoint
    private var random: SeededGenerator
    /// The number of the last written event of each user.
    private var lastNumbers: [Int: Int] = [:]

    package init(plan: Plan, program: String, bed: TestBed, directory: String) throws {
        (self.plan, self.bed) = (plan, bed)
        random = SeededGenerator(seed: plan.seed)
        let answers = TracedLock(SeededGenerator(seed: plan.seed &+ 1))
        // The server needs the key of the record, and the record needs the server's port.
        let draft = try WebhookTestEndpoint(
            url: "http://127.0.0.1:1/hooks", types: [.activityTapped], in: directory)
        endpoint = try ScriptedEndpoint(keys: [draft.key]) { call in
            // A retry comes after five seconds and then after five minutes, so a second failure would end the test late.
            if call.attempt > 1 { return .status(204) }
            return answers.withLock { answers in
                switch answers.number(below: 100) {
                case 0: .status(503)
                case 1: .reset
                case 2: .silence
                case 3...10: .late(200, milliseconds: answers.number(below: 200))
                default: .status(204)
                }
            }
        }
        var record = draft
        record.record.url = "http://127.0.0.1:\(endpoint.port)/hooks"
        self.record = record
        let extraArguments = [
            "--sealing-keys", record.sealingKeysFile, "--webhook",
            String(decoding: record.record.encoded(), as: UTF8.self),
        ]
        runner = KillTestRunner(
            plan: plan, worker: .webhooks, program: program, bed: bed, directory: directory,
            extraArguments: extraArguments)
        writer = try RecordWriter(on: bed, to: .events)
    }

    package func run() async throws -> Result {
        try await runner.run(self)
        var result = Result()
        (result.killCount, result.reachedSteps) = (runner.killCount, runner.reachedSteps)
        (result.events, result.sample, result.key) = (writer.sentCount, endpoint.calls, record.key)
        result.calls = result.sample.count
        result.fault = endpoint.faults.first
        return result
    }

    // MARK: The scenario

    package var firstRareStep: WebhooksStep { .partitionsLocated }
    /// A call that fails is repeated after five seconds, and one that a kill interrupts again after five minutes. The second
    /// part is the time for the events that are still waiting after the last kill.
    package var settleSecondsMax: Int { 400 + plan.events / Self.eventsPerSecondMin }

    package func work(at moment: KillTestMoment) {
        switch moment {
        case .beforeFault(let number, let count):
            writeEvents(count: plan.events * number / count - writer.sentCount)
        case .whileFrozen: writeEvents(count: 20)
        case .beforeStep: writeEvents(count: 2)
        }
    }

    private func writeEvents(count: Int) {
        for _ in 0..<max(0, count) {
            let user = random.number(below: plan.users)
            let number = (lastNumbers[user] ?? 0) + 1
            lastNumbers[user] = number
            let event = WebhookTestEndpoint.tap(number: number, of: "user-\(user)")
            writer.write(key: event.key, value: event.encoded())
        }
    }

    package func finish() -> Bool { writer.finish() }

    /// Whether the endpoint has accepted the last event of every user. The order check implies all events before it.
    package func isSettled() throws -> Bool {
        let accepted = endpoint.lastAcceptedByUser
        return lastNumbers.allSatisfy { accepted["user-\($0.key)"] == $0.value }
    }
}
