internal import Glibc
internal import Lifecycle

extension Invocation {
    /// Asks whether to continue. Returns after the answer `yes` or without a question for `--yes`, and throws
    /// otherwise. The question goes to standard error, because a program may read standard output.
    ///
    /// - Parameter nothingDone: the start of the error after another answer: `nothing was changed`.
    func confirm(orElse nothingDone: String) throws {
        // The plan must be visible before the question, and before the first line of progress.
        fflush(nil)
        if hasOption("--yes") { return }
        StandardError.print("Continue? Type yes: ")
        guard readLine() == "yes" else {
            throw CommandError(status: .usage, "\(nothingDone); use --yes to skip this question")
        }
    }

    /// Writes to standard error, because a program may read standard output.
    func printProgress(_ text: String) {
        StandardError.printLine(text)
    }
}
