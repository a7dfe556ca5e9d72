import Foundation

/// One command of a page's `console` block, with the output that the page shows. A command begins with `$ `; the lines
/// up to the next command are its output.
struct ConsoleStep {
    var command: String
    var output: [String] = []

    /// Returns the steps of each console block of a page: the commands after `$ ` with their output.
    static func blocks(in page: String) -> [[ConsoleStep]] {
        page.components(separatedBy: "```console\n").dropFirst().map { part in
            steps(in: part.components(separatedBy: "\n```")[0])
        }
    }

    private static func steps(in block: String) -> [ConsoleStep] {
        var steps: [ConsoleStep] = []
        for line in block.components(separatedBy: "\n") {
            if line.hasPrefix("$ ") {
                steps.append(ConsoleStep(command: String(line.dropFirst(2))))
            } else if let command = steps.last?.command, hasOpenQuote(command) {
                steps[steps.count - 1].command += "\n" + line
            } else {
                steps[steps.count - 1].output.append(line)
            }
        }
        return steps
    }

    /// Whether a quote is not closed, so that the command goes on in the next line.
    private static func hasOpenQuote(_ command: String) -> Bool {
        !command.filter { $0 == "'" }.count.isMultiple(of: 2)
    }

    /// Returns whether the page shows this output. A line that ends with an ellipsis is compared up to the ellipsis. A
    /// line with only an ellipsis stands for all further lines.
    func shows(_ actual: String) -> Bool {
        let lines = actual.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for (index, shown) in output.enumerated() {
            if shown == "…" { return true }
            guard index < lines.count else { return false }
            let isSame =
                shown.hasSuffix("…") ? lines[index].hasPrefix(shown.dropLast()) : lines[index] == shown
            if !isSame { return false }
        }
        return lines.count == output.count
    }
}
