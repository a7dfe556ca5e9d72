internal import Foundation

/// Returns the path of one of our executables, from the build of the running test.
package func builtProductPath(named name: String) -> String {
    let test = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return test.deletingLastPathComponent().appendingPathComponent(name).path
}
