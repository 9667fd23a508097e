//! [`Words`]: the texts of the page, in English and in Chinese.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

/// Declares the texts, each in both languages, so that neither can lack one. A text behind a number
/// has the forms for one and for many, `one|many`, if they differ.
macro_rules! words {
    ($($name:ident: $english:literal / $chinese:literal,)*) => {
        /// The texts of the page in one language.
        #[derive(Debug)]
        pub struct Words {
            $(pub $name: &'static str,)*
        }

        static ENGLISH: Words = Words { $($name: $english,)* };
        static CHINESE: Words = Words { $($name: $chinese,)* };
    };
}

words! {
    language: "en" / "zh-Hans",
    browse: "Browse" / "浏览",
    search: "Search" / "查找",
    groups: "Groups" / "分组",
    copies: "Copies" / "转载",
    review: "Review" / "审阅",
    health: "Health" / "健康",
    skip: "Skip to the content" / "跳到正文",
    documents: "documents" / "篇文档",
    no_further_document: "No document has this id or a smaller one." / "没有此编号或更小编号的文档。",
    no_documents: "The database is empty. Insert documents with POST /v1/documents." / "数据库是空的。用 POST /v1/documents 插入文档。",
    by_id: "in descending order of their ids" / "按编号从大到小",
    id: "id" / "编号",
    fingerprint: "fingerprint" / "指纹",
    text: "text" / "文本",
    no_text: "no text is stored" / "未保存文本",
    unreliable: "too little content: matches nothing" / "内容过少，不与任何文档匹配",
    newer: "First page" / "第一页",
    older: "Next page" / "下一页",
    cut: "… the text goes on" / "……下文从略",
    search_by: "Search by" / "查找依据",
    radius: "Radius in bits" / "半径（比特）",
    run_search: "Search" / "查找",
    query: "Query" / "查询",
    not_stored: "No document has this id." / "没有这个编号的文档。",
    key_of_document: "key" / "键",
    no_such_key: "No document has this key." / "没有这个键的文档。",
    not_an_id: "An id is a number from 0 to 18446744073709551615." / "编号是 0 到 18446744073709551615 的整数。",
    not_a_fingerprint: "A fingerprint has 16 hexadecimal digits." / "指纹是 16 位十六进制数。",
    no_matches: "No document is near." / "没有相近的文档。",
    more_matches: "More documents match; the nearest are shown." / "还有更多匹配，只列出最近的。",
    strict: "Strict" / "严格",
    similar: "Similar" / "相似",
    found: "found" / "命中",
    not_found: "not found" / "未命中",
    bits_differ: "bit differs|bits differ" / "个比特不同",
    at_most: "at most" / "至多",
    more_than: "more than" / "多于",
    equal_blocks: "equal blocks:" / "相同的块：",
    no_equal_block: "no block is equal, all are compared" / "没有相同的块，逐一比较",
    query_unreliable: "the text of the query has too little content" / "查询文本内容过少",
    document_unreliable: "the text of the document has too little content" / "文档内容过少",
    no_texts: "this database keeps no texts" / "此数据库不保存文本",
    no_text_to_compare: "there is no text to compare" / "没有可比较的文本",
    too_different: "too little alike" / "相似度不足",
    not_covered: "neither text covers the other" / "两边互不覆盖",
    not_candidate: "not among the candidates of the index" / "不在索引的候选之中",
    same: "same: each text covers the other" / "相同：互相覆盖",
    same_body: "same body: other parts differ" / "正文相同，其余部分不同",
    a_in_b: "the stored text covers the query" / "库中文本覆盖查询文本",
    b_in_a: "the query covers the stored text" / "查询文本覆盖库中文本",
    template: "same template, other words" / "同一模板，用词不同",
    different: "different" / "不同",
    edit_similarity: "edit similarity" / "编辑相似度",
    jaccard: "Jaccard index" / "Jaccard 系数",
    loses_query: "Only in the query" / "仅见于查询",
    loses_stored: "Only in the stored text" / "仅见于库中文本",
    loses_left: "Only on the left" / "仅见于左侧",
    loses_right: "Only on the right" / "仅见于右侧",
    nothing_lost: "nothing" / "无",
    bits_label: "64 bits in four blocks; differing bits are marked" / "64 个比特分四块，不同的比特已标出",
    stored_text: "Stored" / "库中",
    groups_intro: "The largest groups of near-duplicates. The search reads the whole database, and ends when this page is left." / "最大的近似重复分组。计算要读取整个数据库，离开本页即停止。",
    kind: "Near by" / "相近的依据",
    by_bits: "fingerprints within the radius" / "指纹在半径之内",
    by_words: "words of texts" / "文本的词",
    compute: "Compute" / "计算",
    computing: "Computing" / "计算中",
    no_groups: "There are no near-duplicates." / "没有近似重复。",
    all_groups: "group,|groups," / "个分组，共",
    shown: "the largest are shown" / "列出最大的",
    group_marks: "Struck out: only the kept text has it. Underlined: only the other text has it." / "删除线：仅见于保留的文本。下划线：仅见于另一文本。",
    keeper: "Kept" / "保留",
    members: "document|documents" / "篇文档",
    other_members: "other is not shown|others are not shown" / "篇未列出",
    copies_intro: "The documents that were repeated most often. The number is of all copies; the plot has the stored ones." / "被重复最多的文档。数字为全部副本，图中为已保存的副本。",
    copies_off: "This database records no copies. Create one with --copies 16." / "此数据库不记录副本。创建时加 --copies 16。",
    copies_of_document: "copy|copies" / "个副本",
    copies_plot: "Stored copies over time" / "已保存的副本随时间的分布",
    sources: "Sources of the stored copies" / "已保存副本的来源",
    newest_copies: "The newest copies" / "最近的副本",
    other_sources: "other|others" / "个其他来源",
    alike: "alike" / "相似",
    no_copies: "No document was repeated in this time." / "此期间没有重复的文档。",
    first_seen: "first seen" / "首次",
    last_seen: "last seen" / "最近",
    hours: "Hours" / "小时",
    show: "Show" / "显示",
    review_intro: "May one of the two texts be deleted, because the other has all that it says?" / "其中一篇是否可以删除，因为另一篇包含了它的全部内容？",
    review_off: "Start the server with --review FILE to collect answers." / "启动服务器时加 --review FILE 即可收集判断。",
    review_none: "No further pair among the documents of this search. Reload the page to search others." / "本次查找的文档中没有更多文本对。刷新页面可查找其他文档。",
    answered_elsewhere: "This answer is not kept: the pair was answered or taken back in another window. Open Review for the next pair." / "此判断未保存：该文本对已在其他窗口中判断或撤销。请打开“审阅”查看下一对。",
    yes: "Yes" / "可以",
    no: "No" / "不可以",
    unsure: "Unsure" / "不确定",
    undo: "Undo" / "撤销",
    keys: "Keys: y, n, u, and z to undo." / "按键：y、n、u，撤销用 z。",
    may_not_answer: "Your token is for queries only: it cannot answer." / "您的令牌只能查询，不能提交判断。",
    answers: "answer|answers" / "个判断",
    precision: "Precision" / "准确率",
    recall: "Recall" / "召回率",
    interval: "95 % interval" / "95% 区间",
    of_shown: "of the pairs shown, the doubtful ones first" / "针对已显示的文本对，最存疑的在前",
    simdb_says: "The decision of simdb" / "simdb 判断",
    removable: "one may be deleted" / "可删除其一",
    not_removable: "keep both" / "都保留",
    findings: "Findings" / "发现",
    sound: "Nothing needs attention." / "一切正常。",
    sound_so_far: "Nothing needs attention among the examined documents." / "已诊断的文档一切正常。",
    unmerged: "Changes that are not in the tables yet" / "尚未并入表的更改",
    growth: "Documents" / "文档数",
    latency: "Milliseconds to a commit, on average" / "提交耗时（毫秒，平均）",
    last_hour: "the last hour" / "最近一小时",
    no_history: "Counted every 10 seconds; come back in a minute." / "每 10 秒统计一次，请稍后再看。",
    key_load: "Fingerprints of a block key" / "每个块键的指纹数",
    key_load_text: "Keys by their number of fingerprints: bars as stored, the line as chance gives" / "各指纹数的块键：柱为实际，线为随机情形",
    ones: "Ones in each bit" / "各比特为 1 的比例",
    ones_text: "The share of fingerprints in which a bit is 1; one half is best" / "该比特为 1 的指纹所占比例，二分之一最佳",
    hot_keys: "Hottest keys" / "最热的键",
    block: "block" / "块",
    key: "key" / "键",
    fingerprints: "fingerprints" / "指纹",
    samples: "such as" / "例如",
    examining: "Examining" / "诊断中",
    examined: "document was examined,|documents were examined," / "篇文档参与诊断，",
    now_and_most: "now and at most" / "当前与最高",
    not_merged_note: "change is in the journal only, and is not examined|changes are in the journal only, and are not examined" / "项更改只在日志中，未参与诊断",
    token_needed: "This server asks for a token" / "此服务器需要令牌",
    token_text: "Open the link that the server printed at its start, or enter the token." / "请打开服务器启动时打印的链接，或输入令牌。",
    token: "Token" / "令牌",
    open: "Open" / "进入",
    report: "Report" / "报告",
    failed: "This did not work" / "出错了",
}

impl Words {
    /// The texts in Chinese, or in English.
    pub fn in_chinese(is_chinese: bool) -> &'static Self {
        if is_chinese { &CHINESE } else { &ENGLISH }
    }

    /// The language that a browser prefers; English unless it is Chinese.
    pub fn of(headers: &HeaderMap) -> &'static Self {
        let accepted = headers
            .get(ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        Self::preferred(accepted.unwrap_or_default())
    }

    fn preferred(accepted: &str) -> &'static Self {
        let mut best = (0.0, &ENGLISH);
        for range in accepted.split(',') {
            let mut parts = range.split(';');
            let tag = parts.next().unwrap_or_default().trim().to_lowercase();
            let quality = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok());
            let quality: f64 = quality.unwrap_or(1.0);
            let words = match tag.split('-').next() {
                Some("zh") => &CHINESE,
                Some("en") => &ENGLISH,
                _ => continue,
            };
            // The first of equals is preferred.
            if quality > best.0 {
                best = (quality, words);
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_the_preferred_one() {
        for (accepted, language) in [
            ("", "en"),
            ("zh", "zh-Hans"),
            ("zh-TW,en;q=0.8", "zh-Hans"),
            ("en-US,en;q=0.9,zh;q=0.8", "en"),
            ("fr, zh-CN;q=0.7, en;q=0.3", "zh-Hans"),
            ("de;q=x,*", "en"),
            ("zh;q=0", "en"),
        ] {
            assert_eq!(Words::preferred(accepted).language, language, "{accepted}");
        }
    }
}
