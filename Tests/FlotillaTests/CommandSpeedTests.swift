import ProcessTesting
import Testing

/// Tests that short commands do not wait for timers of the Kafka client library.
struct CommandSpeedTests {
    /// The target of 0.3 s plus a margin, counted as on an idle machine. Each wait of the library that was removed took
    /// half a second.
    private let secondsMax = 0.45

    @Test(arguments: [["installation", "phone-1", "--app", "shop"], ["apps"], ["topics", "check"], ["lag"]])
    func `a command answers at once`(words: [String]) async throws {
        let directory = try TemporaryDirectory()
        let installation = try await Installation(directory.path)
        var shortestSeconds = Double.infinity
        for _ in 0..<5 {
            var stopwatch = LoadStopwatch()
            let process = try ChildProcess(
                builtProductPath(named: "flotilla"),
                arguments: words + ["--kafka-brokers", installation.broker])
            while process.isRunning {
                try await Task.sleep(for: .milliseconds(2))
                stopwatch.poll()
            }
            shortestSeconds = min(shortestSeconds, stopwatch.seconds)
        }
        #expect(shortestSeconds < secondsMax, "\(words)")
    }
}
