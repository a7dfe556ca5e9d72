/// All problems with the settings, reported at once. Nothing starts with incomplete settings, and an operator
/// sees five mistakes in one start, not in five.
package struct SettingsError: Error, CustomStringConvertible {
    package let problems: [String]

    package var description: String { problems.joined(separator: "\n") }
}
