internal import Foundation
internal import Glibc

/// Returns the processor seconds of a process with all its threads, or 0 if it has ended.
package func processorSeconds(of process: Int32) -> Double {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let nameEnd = stat.lastIndex(of: ")")
    else { return 0 }
    // The line is "ID (NAME) STATE …". STATE is the third field; user and system time are the 14th and the 15th.
    let fieldsFromThird = stat[stat.index(after: nameEnd)...].split(separator: " ")
    guard fieldsFromThird.count > 12, let userTicks = Double(fieldsFromThird[11]),
        let systemTicks = Double(fieldsFromThird[12])
    else { return 0 }
    let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
    return (userTicks + systemTicks) / ticksPerSecond
}
