import Foundation
import Synchronization
import Telemetry
import Testing

@testable import Lifecycle

/// The events, in order.
private final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

private struct Refusal: Error, Equatable {
    let what: String
}

private final class Recorded: Service {
    let name: String
    private let journal: Journal
    private let refuses: Bool
    private let hangs: Shutdown?
    private let context = Mutex<ServiceContext?>(nil)

    init(_ name: String, _ journal: Journal, refuses: Bool = false, hangsUntil hangs: Shutdown? = nil) {
        self.name = name
        self.journal = journal
        self.refuses = refuses
        self.hangs = hangs
    }

    func start(_ context: ServiceContext) async throws {
        if refuses { throw Refusal(what: name) }
        self.context.withLock { $0 = context }
        journal.add("start \(name)")
    }

    func stop(by deadline: Instant) async {
        _ = await hangs?.wait()
        journal.add("stop \(name)")
    }

    func fail() { context.withLock { $0 }?.fail(with: Refusal(what: name)) }
}

private func group(_ services: [any Service], onOverrun: @escaping @Sendable (String) -> Void = { _ in })
    -> ServiceRunner
{
    ServiceRunner(services, log: .silent, metrics: Metrics(), drainMilliseconds: 50, onOverrun: onOverrun)
}

@Test func `services start in order and stop in reverse`() async throws {
    let journal = Journal()
    let shutdown = Shutdown()
    try await group([Recorded("a", journal), Recorded("b", journal)]).run(until: shutdown) {
        journal.add("serving")
        shutdown.request(because: .signal("SIGTERM"))
    }
    #expect(journal.all == ["start a", "start b", "serving", "stop b", "stop a"])
}

@Test func `if a service cannot start, the earlier ones are stopped and its error is thrown`() async {
    let journal = Journal()
    let services = [Recorded("a", journal), Recorded("b", journal, refuses: true), Recorded("c", journal)]
    await #expect(throws: Refusal(what: "b")) {
        try await group(services).run(until: Shutdown()) { journal.add("serving") }
    }
    #expect(journal.all == ["start a", "stop a"])
}

@Test func `if a service fails later, all are stopped and its error is thrown`() async {
    let journal = Journal()
    let failing = Recorded("b", journal)
    await #expect(throws: Refusal(what: "b")) {
        try await group([Recorded("a", journal), failing]).run(until: Shutdown()) { failing.fail() }
    }
    #expect(journal.all == ["start a", "start b", "stop b", "stop a"])
}

@Test func `a stop that is requested during the start prevents further starts`() async throws {
    let journal = Journal()
    let shutdown = Shutdown()
    shutdown.request(because: .signal("SIGINT"))
    try await group([Recorded("a", journal)]).run(until: shutdown) { journal.add("serving") }
    #expect(journal.all.isEmpty)
}

@Test func `a service that does not stop in time is reported by name`() async throws {
    let journal = Journal()
    let release = Shutdown()
    let shutdown = Shutdown()
    let services = group([Recorded("a", journal), Recorded("stuck", journal, hangsUntil: release)]) { name in
        journal.add("overrun \(name)")
        release.request(because: .signal("released"))
    }
    try await services.run(until: shutdown) { shutdown.request(because: .signal("SIGTERM")) }
    #expect(journal.all == ["start a", "start stuck", "overrun stuck", "stop stuck", "stop a"])
}

/// A service that stops only when it is released, and blocks all tasks of the process until then.
private final class Blocking: Service {
    let name = "blocking"
    let release: ThreadSignal
    private let limit = Instant.now().advanced(byMilliseconds: 20_000)

    init(_ release: ThreadSignal) { self.release = release }

    func start(_ context: ServiceContext) async throws {}

    func stop(by deadline: Instant) async {
        let threads = 4 * ProcessInfo.processInfo.activeProcessorCount
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<threads {
                group.addTask { [release, limit] in
                    // Each woken thread wakes the next one.
                    if release.wait(until: limit) { release.raise() }
                }
            }
        }
    }
}

@Test func `the time limit of a stop holds even if services block all tasks`() async throws {
    let journal = Journal()
    let release = ThreadSignal()
    let began = Instant.now()
    let shutdown = Shutdown()
    let services = group([Blocking(release)]) { name in
        journal.add("overrun \(name)")
        release.raise()
    }
    try await services.run(until: shutdown) { shutdown.request(because: .signal("SIGTERM")) }
    #expect(journal.all == ["overrun blocking"])
    #expect(Instant.now().milliseconds(since: began) < 15_000, "its own limit released it")
}

@Test func `the first reason to stop counts`() async {
    let shutdown = Shutdown()
    shutdown.request(because: .signal("SIGTERM"))
    shutdown.request(because: .failure(Refusal(what: "later")))
    guard case .signal("SIGTERM") = await shutdown.wait() else {
        Issue.record("the second reason won")
        return
    }
}
