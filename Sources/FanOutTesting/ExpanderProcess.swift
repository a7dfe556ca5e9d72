package import FanOut
internal import Glibc
package import IngestTesting
internal import Kafka
package import ProcessTesting
internal import Topics

/// The expander in a process of its own, on a data directory that outlives it: what is killed.
package final class ExpanderProcess {
    /// Short, so that the others notice a death soon.
    package static let sessionMilliseconds = 6000

    package let process: ChildProcess

    /// - Parameters:
    ///   - program: `flotilla-bench`, which has this for proofs and never is in an operator's way.
    ///   - death: the step at which it kills itself, and at which of its times.
    package init(
        _ program: String, _ bed: IngestBed, data: String, death: (step: ExpanderStep, time: Int)? = nil
    ) throws {
        var arguments = [
            "expander-worker", "--brokers", bed.settings.brokers.joined(separator: ","), "--prefix",
            bed.layout.prefix, "--lanes", String(bed.layout.lanes), "--data", data,
        ]
        if let death {
            arguments += ["--die-at-step", String(death.step.rawValue), "--at-time", String(death.time)]
        }
        process = try ChildProcess(program, arguments)
    }

    package func kill() { process.send(signal: SIGKILL) }
    package func stop() { process.send(signal: SIGTERM) }
    package func freeze() { process.send(signal: SIGSTOP) }
    package func thaw() { process.send(signal: SIGCONT) }
    package var isRunning: Bool { process.isRunning }
}
