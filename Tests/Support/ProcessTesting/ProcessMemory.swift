internal import Foundation

/// Returns the peak memory of a process, including mapped files.
package func peakMemoryMiB(of process: Int32) -> Int { memoryMiB(field: "VmHWM:", of: process) }

/// Returns the present memory of a process.
package func residentMemoryMiB(of process: Int32) -> Int { memoryMiB(field: "VmRSS:", of: process) }

/// Returns a field of `/proc/ID/status`, whose line is `NAME: NUMBER kB`, or 0 if the process has ended.
private func memoryMiB(field: String, of process: Int32) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
    let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return kibibytes / 1024
}
