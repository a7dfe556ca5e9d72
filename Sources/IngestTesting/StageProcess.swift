internal import Foundation
internal import Glibc
internal import Kafka
package import ProcessTesting
internal import Topics

/// A stage in a process of its own, on a data directory that outlives it: what is killed.
package final class StageProcess {
    /// What `flotilla-bench` runs of a stage, for proofs alone; it never is in an operator's way.
    package enum Worker: String, Sendable {
        case ingest = "ingest-worker"
        case planner = "planner-worker"
        case expander = "expander-worker"
        case fanOut = "fan-out-worker"
        case sender = "sender-worker"
        case scheduler = "scheduler-worker"
        case insight = "insight-worker"
    }

    /// The step at which it kills itself, and at which of its times, counted after another step.
    package struct Death: Sendable {
        package let step: Int
        package let time: Int
        package let after: Int?
        /// It stops itself there instead, and can be woken.
        package let isStop: Bool

        package init(step: Int, time: Int, after: Int? = nil, isStop: Bool = false) {
            self.step = step
            self.time = time
            self.after = after
            self.isStop = isStop
        }
    }

    /// Short, so that the others notice a death soon.
    package static let sessionMilliseconds = 6000

    package let process: ChildProcess

    /// - Parameters:
    ///   - program: `flotilla-bench`.
    ///   - memoryBytesMax: of its own memory; files that it maps do not count.
    ///   - more: arguments of that worker alone.
    package init(
        _ worker: Worker, of program: String, on bed: IngestBed, data: String, sweepMilliseconds: Int? = nil,
        death: Death? = nil, memoryBytesMax: Int? = nil, more: [String] = []
    ) throws {
        var arguments =
            [
                worker.rawValue, "--brokers", bed.settings.brokers.joined(separator: ","), "--prefix",
                bed.layout.prefix, "--lanes", String(bed.layout.lanes), "--data", data,
            ]
        if let sweepMilliseconds { arguments += ["--sweep-milliseconds", String(sweepMilliseconds)] }
        if let death { arguments += ["--die-at-step", String(death.step), "--at-time", String(death.time)] }
        if let after = death?.after { arguments += ["--after-step", String(after)] }
        if death?.isStop == true { arguments += ["--stop-there", "1"] }
        arguments += more
        guard let memoryBytesMax else {
            process = try ChildProcess(program, arguments)
            return
        }
        process = try ChildProcess("prlimit", ["--data=\(memoryBytesMax)", program] + arguments)
    }

    package func kill() { process.send(signal: SIGKILL) }
    package func stop() { process.send(signal: SIGTERM) }
    package func freeze() { process.send(signal: SIGSTOP) }
    package func thaw() { process.send(signal: SIGCONT) }
    package var isRunning: Bool { process.isRunning }

    /// Stopped by a signal, or dead.
    package var isHalted: Bool {
        if !isRunning { return true }
        let stat = try? String(contentsOfFile: "/proc/\(process.identifier)/stat", encoding: .utf8)
        guard let stat, let end = stat.lastIndex(of: ")") else { return true }
        return stat[stat.index(after: end)...].split(separator: " ").first == "T"
    }
}
