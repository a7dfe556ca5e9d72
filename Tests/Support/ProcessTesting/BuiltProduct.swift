internal import Foundation

/// Returns the path of one of our executables, for example `flotilla`. It lies beside the executable of the running
/// test, so both come from one build.
package func builtProductPath(named name: String) -> String {
    "\(builtProductsDirectory)/\(name)"
}

/// The directory of our executables.
package var builtProductsDirectory: String {
    let testExecutable = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return testExecutable.deletingLastPathComponent().path
}
