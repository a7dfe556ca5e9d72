internal import Foundation
internal import Glibc
internal import Kafka
package import ProcessTesting
internal import Topics

/// A process of `flotilla-bench` that runs one stage, and that a test can kill. Its data directory outlives it.
package final class StageProcess {
    /// The workers in `flotilla-bench`, which run one stage for proofs only.
    package enum Worker: String, Sendable {
        case ingest = "ingest-worker"
        case planner = "planner-worker"
        case expander = "expander-worker"
        case fanOut = "fan-out-worker"
        case sender = "sender-worker"
        case scheduler = "scheduler-worker"
        case insight = "insight-worker"
        case webhooks = "webhooks-worker"
    }

    /// The moment at which the process kills or stops itself.
    package struct PlannedHalt: Sendable {
        package enum Kind: Sendable {
            /// The process kills itself (SIGKILL).
            case death
            /// The process stops itself (SIGSTOP), and a test can resume it.
            case stop
        }

        package let kind: Kind
        /// The number of the step.
        package let step: Int
        /// The occurrence of the step, counted from 1.
        package let occurrence: Int
        /// A step after whose first occurrence the counting starts. Nil means at once.
        package let firstStep: Int?

        package init(_ kind: Kind, atStep step: Int, occurrence: Int, after firstStep: Int? = nil) {
            self.kind = kind
            self.step = step
            self.occurrence = occurrence
            self.firstStep = firstStep
        }
    }

    /// The session timeout. It is short, so that the other processes notice a death soon.
    package static let sessionMilliseconds = 6000

    package let process: ChildProcess

    /// - Parameters:
    ///   - program: The path of `flotilla-bench`.
    ///   - extraArguments: Additional arguments of this worker.
    package init(
        _ worker: Worker, of program: String, on bed: TestBed, data: String, sweepMilliseconds: Int? = nil,
        halt: PlannedHalt? = nil, extraArguments: [String] = []
    ) throws {
        var arguments =
            [
                worker.rawValue, "--brokers", bed.settings.brokers.joined(separator: ","), "--prefix",
                bed.layout.prefix, "--lanes", String(bed.layout.lanes), "--data", data,
            ]
        if let sweepMilliseconds { arguments += ["--sweep-milliseconds", String(sweepMilliseconds)] }
        if let halt {
            arguments += ["--die-at-step", String(halt.step), "--at-time", String(halt.occurrence)]
            if let firstStep = halt.firstStep { arguments += ["--after-step", String(firstStep)] }
            if halt.kind == .stop { arguments += ["--stop-there", "1"] }
        }
        arguments += extraArguments
        process = try ChildProcess(program, arguments: arguments)
    }

    package func kill() { process.send(signal: SIGKILL) }
    package func stop() { process.send(signal: SIGTERM) }
    package func freeze() { process.send(signal: SIGSTOP) }
    package func resume() { process.send(signal: SIGCONT) }
    package var isRunning: Bool { process.isRunning }

    /// Whether the process is stopped by a signal or dead.
    package var isHalted: Bool {
        if !isRunning { return true }
        let stat = try? String(contentsOfFile: "/proc/\(process.processID)/stat", encoding: .utf8)
        // The line is "ID (NAME) STATE …", and the name may contain parentheses.
        guard let stat, let nameEnd = stat.lastIndex(of: ")") else { return true }
        let state = stat[stat.index(after: nameEnd)...].split(separator: " ").first
        return state == "T"
    }
}
