internal import Foundation

/// The path of one of our own executables, from the build that the running test belongs to.
package func builtProduct(_ name: String) -> String {
    let test = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return test.deletingLastPathComponent().appendingPathComponent(name).path
}
