import Foundation
import Synchronization
import Telemetry
import Testing

@testable import Lifecycle

// `ServiceRunner`, which starts the services of a process, waits for a reason to stop, and stops them.

/// The events of a test in their order.
private final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

private struct ServiceFailure: Error, Equatable {
    let service: String
}

/// A service that records its start and its stop.
private final class RecordedService: Service {
    let name: String
    private let journal: Journal
    private let failsToStart: Bool
    /// The stop of the service waits for this; nil if it stops at once.
    private let release: Shutdown?
    private let context = Mutex<ServiceContext?>(nil)

    init(
        _ name: String, in journal: Journal, failsToStart: Bool = false,
        hangsUntil release: Shutdown? = nil
    ) {
        self.name = name
        self.journal = journal
        self.failsToStart = failsToStart
        self.release = release
    }

    func start(_ context: ServiceContext) async throws {
        if failsToStart { throw ServiceFailure(service: name) }
        self.context.withLock { $0 = context }
        journal.add("start \(name)")
    }

    func stop(by deadline: Instant) async {
        _ = await release?.wait()
        journal.add("stop \(name)")
    }

    func fail() { context.withLock { $0 }?.fail(with: ServiceFailure(service: name)) }
}

/// Makes a runner that gives its services 50 ms to stop. A service that needs longer is reported to `onOverrun`.
private func runner(of services: [any Service], onOverrun: @escaping @Sendable (String) -> Void = { _ in })
    -> ServiceRunner
{
    ServiceRunner(services, log: .silent, metrics: Metrics(), drainMilliseconds: 50, onOverrun: onOverrun)
}

@Test func `services start in order and stop in reverse`() async throws {
    let journal = Journal()
    let shutdown = Shutdown()
    let services = [RecordedService("a", in: journal), RecordedService("b", in: journal)]
    try await runner(of: services).run(until: shutdown) {
        journal.add("serving")
        shutdown.request(because: .signal("SIGTERM"))
    }
    #expect(journal.all == ["start a", "start b", "serving", "stop b", "stop a"])
}

@Test func `if a service cannot start, the earlier ones are stopped and its error is thrown`() async {
    let journal = Journal()
    let services = [
        RecordedService("a", in: journal), RecordedService("b", in: journal, failsToStart: true),
        RecordedService("c", in: journal),
    ]
    await #expect(throws: ServiceFailure(service: "b")) {
        try await runner(of: services).run(until: Shutdown()) { journal.add("serving") }
    }
    #expect(journal.all == ["start a", "stop a"])
}

@Test func `if a service fails later, all are stopped and its error is thrown`() async {
    let journal = Journal()
    let failing = RecordedService("b", in: journal)
    await #expect(throws: ServiceFailure(service: "b")) {
        try await runner(of: [RecordedService("a", in: journal), failing]).run(until: Shutdown()) {
            failing.fail()
        }
    }
    #expect(journal.all == ["start a", "start b", "stop b", "stop a"])
}

@Test func `a stop that is requested during the start prevents further starts`() async throws {
    let journal = Journal()
    let shutdown = Shutdown()
    shutdown.request(because: .signal("SIGINT"))
    try await runner(of: [RecordedService("a", in: journal)]).run(until: shutdown) { journal.add("serving") }
    #expect(journal.all.isEmpty)
}

@Test func `a service that does not stop in time is reported by name`() async throws {
    let journal = Journal()
    let release = Shutdown()
    let shutdown = Shutdown()
    let serviceRunner = runner(of: [
        RecordedService("a", in: journal), RecordedService("stuck", in: journal, hangsUntil: release),
    ]) { name in
        journal.add("overrun \(name)")
        release.request(because: .signal("released"))
    }
    try await serviceRunner.run(until: shutdown) { shutdown.request(because: .signal("SIGTERM")) }
    #expect(journal.all == ["start a", "start stuck", "overrun stuck", "stop stuck", "stop a"])
}

/// A service that stops only when it is released, and blocks all tasks of the process until then.
private final class BlockingService: Service {
    /// The service then ends by itself. It is long, because a loaded machine delays the release.
    private static let blockedMillisecondsMax = 120_000

    let name = "blocking"
    let release: ThreadSignal
    private let journal: Journal

    init(until release: ThreadSignal, in journal: Journal) {
        (self.release, self.journal) = (release, journal)
    }

    func start(_ context: ServiceContext) async throws {}

    func stop(by deadline: Instant) async {
        let taskCount = 4 * ProcessInfo.processInfo.activeProcessorCount
        let releaseDeadline = Instant.now().advanced(byMilliseconds: Self.blockedMillisecondsMax)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<taskCount {
                group.addTask { [release, journal] in
                    // Each woken thread wakes the next one.
                    if release.wait(until: releaseDeadline) {
                        release.raise()
                    } else {
                        journal.add("not released")
                    }
                }
            }
        }
    }
}

@Test func `the time limit of a stop holds even if services block all tasks`() async throws {
    let journal = Journal()
    let release = ThreadSignal()
    let shutdown = Shutdown()
    let serviceRunner = runner(of: [BlockingService(until: release, in: journal)]) { name in
        journal.add("overrun \(name)")
        release.raise()
    }
    try await serviceRunner.run(until: shutdown) { shutdown.request(because: .signal("SIGTERM")) }
    #expect(journal.all == ["overrun blocking"])
}

@Test func `the first reason to stop counts`() async {
    let shutdown = Shutdown()
    shutdown.request(because: .signal("SIGTERM"))
    shutdown.request(because: .failure(ServiceFailure(service: "later")))
    guard case .signal("SIGTERM") = await shutdown.wait() else {
        Issue.record("the second reason won")
        return
    }
}
