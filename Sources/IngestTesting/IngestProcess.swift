internal import Glibc
internal import Kafka
package import ProcessTesting
internal import Topics

/// The stage in a process of its own, on a data directory that outlives it: what is killed.
package final class IngestProcess {
    /// The step at which it kills itself, and at which of its times, counted after another step.
    package struct Death: Sendable {
        package let step: Int
        package let time: Int
        package let after: Int?

        package init(step: Int, time: Int, after: Int? = nil) {
            self.step = step
            self.time = time
            self.after = after
        }
    }

    /// Short, so that the others notice a death soon.
    package static let sessionMilliseconds = 6000

    package let process: ChildProcess

    /// - Parameters:
    ///   - program: `flotilla-bench`, which has this for proofs and never is in an operator's way.
    ///   - memoryBytesMax: of its own memory; files that it maps do not count.
    package init(
        _ program: String, _ bed: IngestBed, data: String, sweepMilliseconds: Int? = nil, death: Death? = nil,
        memoryBytesMax: Int? = nil
    ) throws {
        var arguments = [
            "ingest-worker", "--brokers", bed.settings.brokers.joined(separator: ","), "--prefix",
            bed.layout.prefix, "--lanes", String(bed.layout.lanes), "--data", data,
        ]
        if let sweepMilliseconds { arguments += ["--sweep-milliseconds", String(sweepMilliseconds)] }
        if let death { arguments += ["--die-at-step", String(death.step), "--at-time", String(death.time)] }
        if let after = death?.after { arguments += ["--after-step", String(after)] }
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
}
