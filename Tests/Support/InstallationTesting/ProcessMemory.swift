internal import Foundation

/// Returns the peak memory of a process, including mapped files.
package func peakMemoryMiB(of process: Int32) -> Int { memoryMiB(field: "VmHWM:", of: process) }

/// Returns the present memory of a process.
package func residentMemoryMiB(of process: Int32) -> Int { memoryMiB(field: "VmRSS:", of: process) }

private func memoryMiB(field: String, of process: Int32) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
}
