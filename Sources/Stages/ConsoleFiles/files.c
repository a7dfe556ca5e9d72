#include "console_files.h"

// #embed is C23. Clang supports it in every C version, with this warning.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "web/api.js"
};
static const unsigned char app_js[] = {
#embed "web/app.js"
};
static const unsigned char apppage_js[] = {
#embed "web/apppage.js"
};
static const unsigned char audiencepart_js[] = {
#embed "web/audiencepart.js"
};
static const unsigned char audiencewords_js[] = {
#embed "web/audiencewords.js"
};
static const unsigned char audit_js[] = {
#embed "web/audit.js"
};
static const unsigned char away_js[] = {
#embed "web/away.js"
};
static const unsigned char charts_js[] = {
#embed "web/charts.js"
};
static const unsigned char clock_js[] = {
#embed "web/clock.js"
};
static const unsigned char compose_js[] = {
#embed "web/compose.js"
};
static const unsigned char composeaside_js[] = {
#embed "web/composeaside.js"
};
static const unsigned char composer_js[] = {
#embed "web/composer.js"
};
static const unsigned char controls_js[] = {
#embed "web/controls.js"
};
static const unsigned char dates_js[] = {
#embed "web/dates.js"
};
static const unsigned char definitions_js[] = {
#embed "web/definitions.js"
};
static const unsigned char deliver_js[] = {
#embed "web/deliver.js"
};
static const unsigned char difference_js[] = {
#embed "web/difference.js"
};
static const unsigned char drafts_js[] = {
#embed "web/drafts.js"
};
static const unsigned char events_js[] = {
#embed "web/events.js"
};
static const unsigned char failedphones_js[] = {
#embed "web/failedphones.js"
};
static const unsigned char fleet_js[] = {
#embed "web/fleet.js"
};
static const unsigned char form_js[] = {
#embed "web/form.js"
};
static const unsigned char format_js[] = {
#embed "web/format.js"
};
static const unsigned char formparts_js[] = {
#embed "web/formparts.js"
};
static const unsigned char groupattributes_js[] = {
#embed "web/groupattributes.js"
};
static const unsigned char groups_js[] = {
#embed "web/groups.js"
};
static const unsigned char groupstate_js[] = {
#embed "web/groupstate.js"
};
static const unsigned char groupwatch_js[] = {
#embed "web/groupwatch.js"
};
static const unsigned char h_js[] = {
#embed "web/h.js"
};
static const unsigned char icon_svg[] = {
#embed "web/icon.svg"
};
static const unsigned char index_html[] = {
#embed "web/index.html"
};
static const unsigned char keys_js[] = {
#embed "web/keys.js"
};
static const unsigned char layout_js[] = {
#embed "web/layout.js"
};
static const unsigned char letters_js[] = {
#embed "web/letters.js"
};
static const unsigned char lockscreens_js[] = {
#embed "web/lockscreens.js"
};
static const unsigned char login_js[] = {
#embed "web/login.js"
};
static const unsigned char match_js[] = {
#embed "web/match.js"
};
static const unsigned char now_js[] = {
#embed "web/now.js"
};
static const unsigned char outcome_js[] = {
#embed "web/outcome.js"
};
static const unsigned char parts_css[] = {
#embed "web/parts.css"
};
static const unsigned char parts_js[] = {
#embed "web/parts.js"
};
static const unsigned char patch_js[] = {
#embed "web/patch.js"
};
static const unsigned char payload_js[] = {
#embed "web/payload.js"
};
static const unsigned char people_js[] = {
#embed "web/people.js"
};
static const unsigned char poll_js[] = {
#embed "web/poll.js"
};
static const unsigned char preview_js[] = {
#embed "web/preview.js"
};
static const unsigned char problems_js[] = {
#embed "web/problems.js"
};
static const unsigned char putback_js[] = {
#embed "web/putback.js"
};
static const unsigned char report_js[] = {
#embed "web/report.js"
};
static const unsigned char router_js[] = {
#embed "web/router.js"
};
static const unsigned char schedules_js[] = {
#embed "web/schedules.js"
};
static const unsigned char schemaexample_js[] = {
#embed "web/schemaexample.js"
};
static const unsigned char segments_js[] = {
#embed "web/segments.js"
};
static const unsigned char sendcolumns_js[] = {
#embed "web/sendcolumns.js"
};
static const unsigned char senddialog_js[] = {
#embed "web/senddialog.js"
};
static const unsigned char sendform_js[] = {
#embed "web/sendform.js"
};
static const unsigned char sends_js[] = {
#embed "web/sends.js"
};
static const unsigned char sendwords_js[] = {
#embed "web/sendwords.js"
};
static const unsigned char series_js[] = {
#embed "web/series.js"
};
static const unsigned char seriescard_js[] = {
#embed "web/seriescard.js"
};
static const unsigned char session_js[] = {
#embed "web/session.js"
};
static const unsigned char shell_js[] = {
#embed "web/shell.js"
};
static const unsigned char style_css[] = {
#embed "web/style.css"
};
static const unsigned char timecharts_js[] = {
#embed "web/timecharts.js"
};
static const unsigned char trial_js[] = {
#embed "web/trial.js"
};
static const unsigned char trialresult_js[] = {
#embed "web/trialresult.js"
};
static const unsigned char troubles_js[] = {
#embed "web/troubles.js"
};
static const unsigned char typeform_js[] = {
#embed "web/typeform.js"
};
static const unsigned char typelayouts_js[] = {
#embed "web/typelayouts.js"
};
static const unsigned char types_js[] = {
#embed "web/types.js"
};
static const unsigned char unsent_js[] = {
#embed "web/unsent.js"
};
static const unsigned char webhooks_js[] = {
#embed "web/webhooks.js"
};
static const unsigned char words_js[] = {
#embed "web/words.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}

const struct console_file console_files[] = {
    FILE("api.js", api_js),
    FILE("app.js", app_js),
    FILE("apppage.js", apppage_js),
    FILE("audiencepart.js", audiencepart_js),
    FILE("audiencewords.js", audiencewords_js),
    FILE("audit.js", audit_js),
    FILE("away.js", away_js),
    FILE("charts.js", charts_js),
    FILE("clock.js", clock_js),
    FILE("compose.js", compose_js),
    FILE("composeaside.js", composeaside_js),
    FILE("composer.js", composer_js),
    FILE("controls.js", controls_js),
    FILE("dates.js", dates_js),
    FILE("definitions.js", definitions_js),
    FILE("deliver.js", deliver_js),
    FILE("difference.js", difference_js),
    FILE("drafts.js", drafts_js),
    FILE("events.js", events_js),
    FILE("failedphones.js", failedphones_js),
    FILE("fleet.js", fleet_js),
    FILE("form.js", form_js),
    FILE("format.js", format_js),
    FILE("formparts.js", formparts_js),
    FILE("groupattributes.js", groupattributes_js),
    FILE("groups.js", groups_js),
    FILE("groupstate.js", groupstate_js),
    FILE("groupwatch.js", groupwatch_js),
    FILE("h.js", h_js),
    FILE("icon.svg", icon_svg),
    FILE("index.html", index_html),
    FILE("keys.js", keys_js),
    FILE("layout.js", layout_js),
    FILE("letters.js", letters_js),
    FILE("lockscreens.js", lockscreens_js),
    FILE("login.js", login_js),
    FILE("match.js", match_js),
    FILE("now.js", now_js),
    FILE("outcome.js", outcome_js),
    FILE("parts.css", parts_css),
    FILE("parts.js", parts_js),
    FILE("patch.js", patch_js),
    FILE("payload.js", payload_js),
    FILE("people.js", people_js),
    FILE("poll.js", poll_js),
    FILE("preview.js", preview_js),
    FILE("problems.js", problems_js),
    FILE("putback.js", putback_js),
    FILE("report.js", report_js),
    FILE("router.js", router_js),
    FILE("schedules.js", schedules_js),
    FILE("schemaexample.js", schemaexample_js),
    FILE("segments.js", segments_js),
    FILE("sendcolumns.js", sendcolumns_js),
    FILE("senddialog.js", senddialog_js),
    FILE("sendform.js", sendform_js),
    FILE("sends.js", sends_js),
    FILE("sendwords.js", sendwords_js),
    FILE("series.js", series_js),
    FILE("seriescard.js", seriescard_js),
    FILE("session.js", session_js),
    FILE("shell.js", shell_js),
    FILE("style.css", style_css),
    FILE("timecharts.js", timecharts_js),
    FILE("trial.js", trial_js),
    FILE("trialresult.js", trialresult_js),
    FILE("troubles.js", troubles_js),
    FILE("typeform.js", typeform_js),
    FILE("typelayouts.js", typelayouts_js),
    FILE("types.js", types_js),
    FILE("unsent.js", unsent_js),
    FILE("webhooks.js", webhooks_js),
    FILE("words.js", words_js),
};
const size_t console_files_count = sizeof console_files / sizeof console_files[0];
