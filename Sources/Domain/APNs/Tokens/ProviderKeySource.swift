internal import Glibc
internal import Identifiers
internal import Lifecycle

/// The location of the key files.
package enum ProviderKeySource: Sendable {
    /// `DIRECTORY/<team id>/AuthKey_<key id>.p8`, each file exactly as downloaded from Apple.
    case directory(String)
    case files([ProviderKeyName: String])

    /// Limit on the files in a directory. A directory of keys never has more.
    private static let filesMax = 10_000
    private static let filePrefix = "AuthKey_"
    private static let fileSuffix = ".p8"

    /// Returns the key files, or throws if they cannot be listed.
    func list() throws(ProviderKeyError) -> [ProviderKeyName: String] {
        switch self {
        case .files(let files): return files
        case .directory(let root):
            var files: [ProviderKeyName: String] = [:]
            for team in try names(in: root) where AppleIDRules.isValid(team) {
                for file in try names(in: "\(root)/\(team)") {
                    guard let keyID = ProviderKeySource.keyID(of: file) else { continue }
                    files[ProviderKeyName(teamID: team, keyID: keyID)] = "\(root)/\(team)/\(file)"
                }
            }
            return files
        }
    }

    /// Returns the key id in the name of a key file, or nil for another file.
    private static func keyID(of file: String) -> String? {
        guard file.hasPrefix(filePrefix), file.hasSuffix(fileSuffix) else { return nil }
        let keyID = file.dropFirst(filePrefix.count).dropLast(fileSuffix.count)
        return AppleIDRules.isValid(keyID) ? String(keyID) : nil
    }

    /// Returns the names in a directory, without hidden files.
    private func names(in path: String) throws(ProviderKeyError) -> [String] {
        guard let directory = unsafe opendir(path) else {
            throw ProviderKeyError(
                "cannot read the directory of provider keys \(path): \(SystemError.text(for: errno))")
        }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while names.count < ProviderKeySource.filesMax, let entry = unsafe readdir(directory) {
            // SAFETY: `d_name` has 256 bytes, and the kernel terminates names with a zero byte.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}

/// A key file that cannot be used: which file, why, and the remedy. It contains nothing from the file.
package struct ProviderKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
