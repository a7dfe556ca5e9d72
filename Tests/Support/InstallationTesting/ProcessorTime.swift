internal import Foundation
internal import Glibc

/// Returns the processor seconds of a process with all its threads, or 0 if it has ended.
package func processorSeconds(of process: Int32) -> Double {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let name = stat.lastIndex(of: ")")
    else { return 0 }
    // The third field follows the name; user and system time are the fourteenth and the fifteenth.
    let fields = stat[stat.index(after: name)...].split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
}
