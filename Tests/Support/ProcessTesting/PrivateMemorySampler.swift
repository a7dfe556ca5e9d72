internal import Foundation
internal import Synchronization

/// The peak of a process's private memory, sampled every few milliseconds. It counts resident anonymous
/// pages, `RssAnon`: the same as the anonymous pages of `smaps_rollup`, without its walk through all pages.
/// Pages of a mapped file are the kernel's cache and are not counted, although `smaps_rollup` calls them
/// private while no other process maps the file.
package final class PrivateMemorySampler: Sendable {
    private static let intervalSeconds = 0.02

    private let peakKibibytes = Atomic(0)
    private let isStopped = Atomic(false)
    private let path: String

    /// - Parameter process: the process id; nil means this process.
    package init(of process: Int32? = nil) {
        path = "/proc/\(process.map(String.init) ?? "self")/status"
        // A separate thread samples in time, even while tests keep all threads of the pool busy.
        Thread.detachNewThread { [self] in
            while !isStopped.load(ordering: .relaxed) {
                sample()
                Thread.sleep(forTimeInterval: Self.intervalSeconds)
            }
        }
    }

    /// The peak so far, in MiB.
    package var peakMiB: Int {
        sample()
        return peakKibibytes.load(ordering: .relaxed) >> 10
    }

    /// Ends the sampling. Returns the peak in MiB.
    package func stop() -> Int {
        isStopped.store(true, ordering: .relaxed)
        return peakMiB
    }

    /// Waits until the memory has not grown for some seconds.
    ///
    /// - Parameter minimum: The MiB that the loaded process has at least. A pause below it does not count.
    package func waitUntilSettled(aboveMiB minimum: Int) async throws {
        var highest = 0
        var grewAt = ContinuousClock.now
        try await eventually("the memory settles above \(minimum) MiB", seconds: 180) {
            let present = peakMiB
            if present > highest {
                highest = present
                grewAt = .now
            }
            return highest > minimum && ContinuousClock.now - grewAt > .seconds(3)
        }
    }

    private func sample() {
        guard let file = unsafe fopen(path, "re") else { return }
        defer { unsafe fclose(file) }
        var text = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&text, 1, text.count, file)
        let lines = text[..<count].split(separator: UInt8(ascii: "\n"))
        for line in lines where line.starts(with: "RssAnon:".utf8) {
            let digits = line.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            peakKibibytes.max(Int(String(decoding: digits, as: UTF8.self)) ?? 0, ordering: .relaxed)
        }
    }
}
