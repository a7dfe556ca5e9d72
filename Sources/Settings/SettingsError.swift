/// Everything that is wrong with the settings, at once: nothing starts half-configured, and nobody
/// should have to start five times to learn of five mistakes.
package struct SettingsError: Error, CustomStringConvertible {
    package let problems: [String]

    package var description: String { problems.joined(separator: "\n") }
}
